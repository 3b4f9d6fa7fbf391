package kube

import "container/heap"

// ages is a heap of the watches that count. The first is the oldest. With a watch for each Secret, looking through all of them at each
// event would cost more than the event.
type ages []*progress

// nowhere is the place of a watch that is not in the heap.
const nowhere = -1

var _ heap.Interface = (*ages)(nil)

// aged takes that a watch has come to a later time.
func (a *ages) aged(p *progress) {
	if p.place == nowhere {
		heap.Push(a, p)
		return
	}
	heap.Fix(a, p.place)
}

func (a *ages) remove(p *progress) {
	if p.place != nowhere {
		heap.Remove(a, p.place)
	}
}

// Len implements heap.Interface.
func (a ages) Len() int { return len(a) }

// Less implements heap.Interface.
func (a ages) Less(i, j int) bool { return a[i].asOf.Before(a[j].asOf) }

// Swap implements heap.Interface.
func (a ages) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *ages) Push(x any) {
	p := x.(*progress)
	p.place = len(*a)
	*a = append(*a, p)
}

// Pop implements heap.Interface.
func (a *ages) Pop() any {
	last := len(*a) - 1
	p := (*a)[last]
	(*a)[last], *a = nil, (*a)[:last]
	p.place = nowhere
	return p
}

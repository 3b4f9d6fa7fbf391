package snapshot

import "hash/maphash"

// hostTable finds the place of a hostname. Of a large one nothing is in the
// processor's cache, so a bucket is a quarter of a line, and what it is compared with
// stands side by side. After the last claim it never changes.
type hostTable struct {
	seed    maphash.Seed // so that nobody can choose hostnames that meet
	buckets []hostBucket // a power of two; a name is in the first from its hash on that was free
	text    []byte
	names   int
}

type hostBucket struct {
	offset uint32 // of the name in text
	place  int32
	tag    uint32 // the half of the hash that says nothing of where the bucket is
	size   uint8  // of the name, maxDomain at most; 0 for a free bucket
}

func newHostTable(names, size int) hostTable {
	t := hostTable{seed: maphash.MakeSeed()}
	if names == 0 {
		return t
	}
	buckets := 2
	for buckets < names+names/4+1 {
		buckets *= 2
	}
	t.buckets, t.text = make([]hostBucket, buckets), make([]byte, 0, size)
	return t
}

func (t *hostTable) find(name string) (place int32, ok bool) {
	return find(t, maphash.String(t.seed, name), name)
}

func (t *hostTable) findBytes(name []byte) (place int32, ok bool) {
	return find(t, maphash.Bytes(t.seed, name), name)
}

func find[T string | []byte](t *hostTable, hash uint64, name T) (place int32, ok bool) {
	mask := len(t.buckets) - 1
	if mask < 0 {
		return conflict, false
	}
	tag := uint32(hash >> 32)
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		b := &t.buckets[i]
		if b.size == 0 {
			return conflict, false
		}
		if b.tag == tag && int(b.size) == len(name) && string(t.text[b.offset:int(b.offset)+len(name)]) == string(name) {
			return b.place, true
		}
	}
}

// claim returns the place of a name, which is given one if it has none.
func (t *hostTable) claim(name string, place int32) (held *int32, taken bool) {
	hash := maphash.String(t.seed, name)
	mask, tag := len(t.buckets)-1, uint32(hash>>32)
	i := int(hash) & mask
	for ; t.buckets[i].size > 0; i = (i + 1) & mask {
		b := &t.buckets[i]
		if b.tag == tag && string(t.text[b.offset:int(b.offset)+int(b.size)]) == name {
			return &b.place, true
		}
	}
	t.buckets[i] = hostBucket{uint32(len(t.text)), place, tag, uint8(len(name))}
	t.text = append(t.text, name...)
	t.names++
	return &t.buckets[i].place, false
}

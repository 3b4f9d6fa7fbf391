package snapshot

// Difference says which Apps differ between two generations.
type Difference struct {
	// Added, Removed and Changed are told by name. One is changed if anything but its
	// place in the Registry is another: an entry, a Secret, what a request is answered.
	Added, Removed, Changed AppNames
	// Opened and Closed began and ceased to serve.
	Opened, Closed AppNames
}

// AppNames counts Apps and names some of them.
type AppNames struct {
	Count int
	Names []string
}

// Since compares with an earlier generation, of which there may have been none. It
// names no more than most Apps of a kind. Its time is that of one walk over both;
// it allocates for what lies between the first and the last name that differ.
func (a *Apps) Since(before *Apps, most int) Difference {
	c := comparison{before: orNone(before), after: orNone(a), most: most}
	begin := c.walkBegin()
	end := c.walkEnd(begin)
	c.walkBetween(begin, c.before.Len()-end, c.after.Len()-end)
	return c.Difference
}

func orNone(a *Apps) *Apps {
	if a == nil {
		return new(Apps)
	}
	return a
}

type comparison struct {
	Difference

	before, after *Apps
	most          int
}

// walkBegin pairs Apps for as long as the names are the same, and returns how many.
func (c *comparison) walkBegin() int {
	for n := range min(c.before.Len(), c.after.Len()) {
		if !c.pairSame(c.before.At(n), c.after.At(n)) {
			return n
		}
	}
	return min(c.before.Len(), c.after.Len())
}

// walkEnd is walkBegin from the end on, down to what that has seen.
func (c *comparison) walkEnd(begin int) int {
	most := min(c.before.Len(), c.after.Len()) - begin
	for n := range most {
		if !c.pairSame(c.before.At(c.before.Len()-1-n), c.after.At(c.after.Len()-1-n)) {
			return n
		}
	}
	return most
}

// pairSame reports whether the names are the same. It looks into no App that both
// generations share: most are in no cache.
func (c *comparison) pairSame(old, now *App) bool {
	if old != now && old.Name != now.Name {
		return false
	}
	c.pair(old, now)
	return true
}

// walkBetween pairs by name what is left from begin on.
func (c *comparison) walkBetween(begin, beforeEnd, afterEnd int) {
	byName := make(map[string]*App, beforeEnd-begin)
	for i := begin; i < beforeEnd; i++ {
		byName[c.before.At(i).Name] = c.before.At(i)
	}
	met := make(map[*App]struct{}, len(byName))
	for i := begin; i < afterEnd; i++ {
		old := byName[c.after.At(i).Name]
		if old != nil {
			met[old] = struct{}{}
		}
		c.pair(old, c.after.At(i))
	}
	for i := begin; i < beforeEnd; i++ {
		if _, ok := met[c.before.At(i)]; !ok {
			c.pair(c.before.At(i), nil)
		}
	}
}

// pair compares an App with what it was; one of them may be nil.
func (c *comparison) pair(old, now *App) {
	switch {
	case old == now:
		return
	case old == nil:
		c.add(&c.Added, now)
	case now == nil:
		c.add(&c.Removed, old)
	case !old.sameButForItsPlace(now):
		c.add(&c.Changed, now)
	}
	was, is := old.serves(), now.serves()
	if is && !was {
		c.add(&c.Opened, now)
	}
	if was && !is {
		c.add(&c.Closed, old)
	}
}

func (c *comparison) add(to *AppNames, app *App) {
	to.Count++
	if len(to.Names) < c.most {
		to.Names = append(to.Names, app.Name)
	}
}

func (a *App) sameButForItsPlace(b *App) bool {
	moved := *a
	moved.Index = b.Index
	return moved.equal(b)
}

// serves reports whether requests for an App that there is can be let through.
func (a *App) serves() bool { return a != nil && a.Reason == ReasonAllowed }

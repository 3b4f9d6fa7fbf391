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
	c := comparison{before: before.all(), after: a.all(), most: most}
	begin := c.walkBegin()
	end := c.walkEnd(begin)
	c.walkBetween(c.before[begin:len(c.before)-end], c.after[begin:len(c.after)-end])
	return c.Difference
}

// all returns the Apps in order; none for a nil View.
func (a *Apps) all() []*App {
	if a == nil {
		return nil
	}
	all := make([]*App, a.Len())
	for i := range all {
		all[i] = a.At(i)
	}
	return all
}

type comparison struct {
	Difference

	before, after []*App
	most          int
}

// walkBegin pairs Apps for as long as the names are the same, and returns how many.
func (c *comparison) walkBegin() int {
	n := 0
	for n < min(len(c.before), len(c.after)) && c.before[n].Name == c.after[n].Name {
		c.pair(c.before[n], c.after[n])
		n++
	}
	return n
}

// walkEnd is walkBegin from the end on, down to what that has seen.
func (c *comparison) walkEnd(begin int) int {
	n := 0
	for n < min(len(c.before), len(c.after))-begin {
		x, y := c.before[len(c.before)-1-n], c.after[len(c.after)-1-n]
		if x.Name != y.Name {
			break
		}
		c.pair(x, y)
		n++
	}
	return n
}

func (c *comparison) walkBetween(before, after []*App) {
	byName := make(map[string]*App, len(before))
	for _, app := range before {
		byName[app.Name] = app
	}
	met := make(map[*App]struct{}, len(before))
	for _, app := range after {
		old := byName[app.Name]
		if old != nil {
			met[old] = struct{}{}
		}
		c.pair(old, app)
	}
	for _, app := range before {
		if _, ok := met[app]; !ok {
			c.pair(app, nil)
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

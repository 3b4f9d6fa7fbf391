package files

// sight is what a look at one file or tree found.
type sight uint8

const (
	// same: nothing that the Sink would have to be told of.
	same sight = iota
	// changed: it defines something else, or fails in another way.
	changed
	// unsettled: it is being written, or may be; another look will tell.
	unsettled
	// gone: it was there, and is not any more.
	gone
)

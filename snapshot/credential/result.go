package credential

// Result is what became of a presented value.
type Result uint8

// The results.
const (
	// Unknown: no client has the value. The zero value.
	Unknown Result = iota
	// Expired: a client has it, at another time than now.
	Expired
	// Valid: a client has it.
	Valid
	// Denied: a client has it, and may do nothing with it here.
	Denied
	// Overloaded: nobody could look, for too many ask.
	Overloaded
)

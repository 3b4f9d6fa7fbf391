package files

import (
	"errors"
	"fmt"
)

// errPanic: this program failed, whatever is in the file.
var errPanic = errors.New("cannot be decoded")

// panicError says nothing but the type: the value may quote a secret.
func panicError(value any) error { return fmt.Errorf("%w (%T)", errPanic, value) }

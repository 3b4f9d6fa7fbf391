package credential

import "fmt"

// Spec says how to read one Secret.
type Spec struct {
	// Format is how to read the bytes. Default: Auto.
	Format Format
	// DataKey is the data key to read; empty for any, where the format permits.
	DataKey string
	// Client is whom values without a name of their own belong to.
	Client string
	// Others are data keys that something else of the App reads, so that they are no
	// clients of format map.
	Others []string
}

// located says under which data key an error is, if it is under one.
func located(dataKey string, err error) error {
	if dataKey == "" {
		return err
	}
	return fmt.Errorf("key %q: %w", dataKey, err)
}

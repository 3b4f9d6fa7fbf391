package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxAhead is how far clocks may disagree.
const maxAhead = time.Minute

// header says what the body is. All of it is readable, and authenticated.
type header struct {
	Origin      Origin    `json:"origin"`
	Cluster     string    `json:"cluster,omitempty"`
	RegistryUID string    `json:"registryUID,omitempty"` // for people who look into the file
	Validated   time.Time `json:"validated"`
	Written     time.Time `json:"written"`
	Salt        []byte    `json:"salt"`
	Check       []byte    `json:"check"`    // tells another key from damage
	Unpacked    int64     `json:"unpacked"` // bytes of the body without seal and compression
	Body        int64     `json:"body"`     // bytes of the body in the file
}

func (h *header) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("header: has %d bytes, more than %d; shorten the name of the server", len(text), maxHeader)
	}
	return text, nil
}

func decodeHeader(text []byte) (*header, error) {
	h := new(header)
	if err := json.Unmarshal(text, h); err != nil {
		// Without the error itself, which may quote the text.
		return nil, errAltered
	}
	if h.Body < 0 || h.Unpacked < 0 {
		return nil, errAltered
	}
	return h, nil
}

// admitTimes refuses what is from the future: its age would be no age.
func (h *header) admitTimes(now time.Time) error {
	for _, at := range []struct {
		what string
		time time.Time
	}{{"written", h.Written}, {"validated", h.Validated}} {
		if ahead := at.time.Sub(now); ahead > maxAhead {
			return fmt.Errorf("was %s at %s, %s ahead of this machine's clock; set the clock right, or remove it",
				at.what, at.time.Format(time.RFC3339), ahead.Round(time.Second))
		}
	}
	return nil
}

// These refuse a whole file.
var (
	errAltered  = errors.New("has been altered or damaged; remove it")
	errOtherKey = errors.New("is sealed with another key; give the key that it was sealed with, or remove it")
)

func cutShort(size, want int64) error {
	return fmt.Errorf("is cut short (%d of %d bytes); remove it", size, want)
}

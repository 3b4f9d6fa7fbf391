package credential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var errNoneLeft = errors.New("holds no key that can be used")

// ReadKeys reads API keys. What is wrong with one value spoils that value alone
// and is a warning; an error means that nothing can be used, and names the fix.
func ReadKeys(s Secret, spec Spec) (*Keys, Warnings, error) {
	format, dataKey := spec.Format, spec.DataKey
	if format == "" || format == Auto {
		var err error
		if format, dataKey, err = decide(s, dataKey, spec.Others); err != nil {
			return nil, nil, located(spec.DataKey, err)
		}
	}
	r := reader{client: spec.Client, dataKey: dataKey, others: spec.Others}
	if err := r.read(s, format); err != nil {
		return nil, r.said(), located(dataKey, err)
	}
	if r.full() {
		return nil, r.said(), located(dataKey, errTooManyKeys)
	}
	keys := r.keys()
	if len(keys.all) == 0 {
		return nil, r.said(), located(dataKey, errNoneLeft)
	}
	return keys, r.said(), nil
}

// reader gathers the keys of one Secret.
type reader struct {
	others []string
	notes
	client  string
	dataKey string
	found   []placed
}

type placed struct {
	key
	at place
}

// maxKeys bounds the keys of one Secret: all of them are read anew when it changes,
// and meanwhile nobody else's change is.
const maxKeys = 10_000

var errTooManyKeys = fmt.Errorf("holds more than %d keys; use several Secrets", maxKeys)

func (r *reader) full() bool { return len(r.found) > maxKeys }

func (r *reader) read(s Secret, format Format) error {
	if format == Map {
		r.readMap(s)
		return nil
	}
	if r.dataKey == "" {
		return fmt.Errorf("format %s reads one key; name it in key", format)
	}
	text, ok := s.Value(r.dataKey)
	if !ok {
		return errors.New("does not exist; add it")
	}
	switch format {
	case Lines:
		r.readLines(text)
	case Keyset:
		return r.readKeyset(text)
	default:
		r.add(place{dataKey: r.dataKey}, r.client, text)
	}
	return nil
}

// readMap takes no data key for a client that holds something else, which may be
// public: a JWKS, or hashes.
func (r *reader) readMap(s Secret) {
	for _, client := range s.Keys() {
		if slices.Contains(r.others, client) {
			continue
		}
		at := place{dataKey: client}
		value, _ := s.Value(client)
		if slices.Contains(reservedKeys, client) || IsSomethingElse(value) {
			r.warn(at, "is for something else than API keys; it is left out")
			continue
		}
		r.add(at, client, value)
		if r.full() {
			return
		}
	}
}

func (r *reader) readLines(text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		r.readLine(place{r.dataKey, "line", n}, strings.Fields(line))
		if r.full() {
			return
		}
	}
}

// readLine takes no comment after a value: "value #word" would make a key of the
// word, and an identity, which is logged, of the value.
func (r *reader) readLine(at place, fields []string) {
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return
	}
	client := r.client
	if len(fields) > 1 && !strings.EqualFold(fields[0], "Bearer") {
		client, fields = fields[0], fields[1:]
	}
	value := strings.Join(fields, " ")
	bare, _ := cutBearer(value)
	if bare == "" || strings.HasPrefix(bare, "#") || strings.ContainsAny(bare, " ") {
		r.warn(at, "is neither a value nor a client and a value; it is left out")
		return
	}
	r.add(at, client, value)
}

// add takes a value of a client.
func (r *reader) add(at place, client, value string) {
	value = r.clean(at, value)
	switch {
	case !presentable(value):
		r.warn(at, "is empty, or no caller could send it; it is left out")
	case !validClient(client):
		r.warn(at, "the client has no name of letters, digits and -_.@:+; it is left out")
	default:
		r.found = append(r.found, placed{key{digest: sum(value), client: client}, at})
	}
}

// keys leaves out every value that two clients share, or that is there twice with
// other times: nobody could tell which counts. A repeat counts once.
func (r *reader) keys() *Keys {
	first := make(map[digest]key, len(r.found))
	doubtful := make(map[digest]bool)
	for _, p := range r.found {
		if other, ok := first[p.digest]; ok && !p.key.equal(other) {
			doubtful[p.digest] = true
			continue
		}
		first[p.digest] = p.key
	}
	keys := newKeys(len(first))
	seen := make(map[digest]bool, len(first))
	for _, p := range r.found {
		switch {
		case doubtful[p.digest]:
			r.warn(p.at, "another client, or the same at other times, has this value; both are left out")
		case seen[p.digest]:
			r.warn(p.at, "is there before; it is left out")
		default:
			seen[p.digest] = true
			keys.all = append(keys.all, p.key)
		}
	}
	keys.makeIndex()
	return keys
}

package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// PublicPath is a path that asks for no credentials.
type PublicPath struct {
	// Path is escaped and canonical. It is exact unless Below is set.
	Path string
	// Below means every path that begins with Path, which ends in a slash.
	Below bool
	// Methods are those that it is public for. Default: GET and HEAD.
	Methods []string
}

func (p PublicPath) equal(other PublicPath) bool {
	return p.Path == other.Path && p.Below == other.Below && slices.Equal(p.Methods, other.Methods)
}

var readingMethods = []string{"GET", "HEAD"}

type rawPublic struct {
	Path    optionalText `json:"path"`
	Methods optionalList `json:"methods"`
}

func (p *Policy) readPublic(raw rawText) error {
	if !raw.isSet() {
		return nil
	}
	var items []json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(raw), &items); err != nil || len(items) == 0 {
		return errors.New("public: is no list of paths; write it as in [{path: /healthz}], or leave the field out")
	}
	if len(items) > mostRules {
		return fmt.Errorf("public: has more than %d paths", mostRules)
	}
	for i, item := range items {
		path, err := parsePublic(item)
		if err != nil {
			return fmt.Errorf("public[%d]%w", i, err)
		}
		p.Public = append(p.Public, path)
	}
	return p.asks("public")
}

func parsePublic(text []byte) (PublicPath, error) {
	var raw rawPublic
	strict, err := kjson.UnmarshalStrict(text, &raw)
	switch {
	case err != nil:
		return PublicPath{}, fmt.Errorf(": %w", explain(err))
	case len(strict) > 0:
		return PublicPath{}, fmt.Errorf(": %w; write path and methods", explainAll(strict))
	case !raw.Path.set:
		return PublicPath{}, errors.New(".path: missing; write it as in /healthz, or /static/* for all below")
	}
	p := PublicPath{Path: raw.Path.value, Methods: readingMethods}
	if parent, ok := strings.CutSuffix(p.Path, "/*"); ok {
		p.Path, p.Below = parent+"/", true
	}
	if !canonicalPath(p.Path) || strings.Contains(p.Path, "*") {
		return p, fmt.Errorf(".path: %s is no path that can be public; write it as a browser sends it, from the first slash, percent-encoded and without ., .. or //", raw.Path.quote())
	}
	if raw.Methods.set {
		if p.Methods, err = raw.Methods.words("methods", "write them as in [GET, POST]"); err != nil {
			return p, fmt.Errorf(".%w", err)
		}
		for _, method := range p.Methods {
			if !isToken(method, "-") || method != strings.ToUpper(method) {
				return p, fmt.Errorf(".methods: %s is no method; write it as in GET", quote(method))
			}
		}
	}
	return p, nil
}

func (p *Policy) readPreflight(choice optionalText) error {
	if !choice.set || choice.value == "deny" {
		return nil
	}
	if choice.value != "pass" {
		return fmt.Errorf("preflight: %s is no choice; write deny or pass", choice.quote())
	}
	p.PassPreflight = true
	return p.asks("preflight")
}

// IsPublic reports whether the path and the method of a request ask for no
// credentials. A path that something behind may take for another one is not public. A
// Decision looks at everything else before.
func (p *Policy) IsPublic(r *Request) bool {
	if len(p.Public) == 0 || r.URL == nil || r.URL.Opaque != "" {
		return false
	}
	path := r.URL.EscapedPath()
	if !canonicalPath(path) {
		return false
	}
	for i := range p.Public {
		if p.Public[i].matches(r.Method, path) {
			return !isRewritten(r.Header)
		}
	}
	return false
}

// rewriting are headers by which some apps take another path or method than that of
// the request.
var rewriting = confusableSet(
	"X-Original-Url", "X-Original-Uri", "X-Original-Path", "X-Original-Method", "X-Rewrite-Url", "X-Rewrite-Uri",
	"X-Override-Url", "X-Forwarded-Uri", "X-Forwarded-Url", "X-Forwarded-Path", "X-Forwarded-Method",
	"X-Envoy-Original-Path", "X-Http-Path-Override",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
	// Some take these for a part of the path, and cut it off.
	"Script-Name", "X-Script-Name", "X-Forwarded-Script-Name", "X-Forwarded-Prefix", "X-Forwarded-Pathbase", "Path-Info",
)

func confusableSet(names ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(names))
	for _, name := range names {
		set[confusable(name)] = struct{}{}
	}
	return set
}

func isRewritten(h map[string][]string) bool {
	for name := range h {
		if _, ok := rewriting[confusable(name)]; ok {
			return true
		}
	}
	return false
}

func (p *PublicPath) matches(method, path string) bool {
	if p.Below {
		return strings.HasPrefix(path, p.Path) && slices.Contains(p.Methods, method)
	}
	return path == p.Path && slices.Contains(p.Methods, method)
}

// asking is the method of preflight requests; net/http does I/O and is not imported.
const asking = "OPTIONS"

// isPreflight tells a request by which a browser asks what it may send (Fetch
// standard, section 4.8). One that some app takes for another method is none.
func isPreflight(r *Request) bool {
	return r.Method == asking && len(r.Header["Origin"]) == 1 && len(r.Header["Access-Control-Request-Method"]) == 1 &&
		!isRewritten(r.Header)
}

// canonicalPath reports whether everybody takes an escaped path for the same one,
// however it decodes, cleans and cuts it.
func canonicalPath(escaped string) bool {
	if !strings.HasPrefix(escaped, "/") {
		return false
	}
	for i := range len(escaped) {
		if c := escaped[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`;\?#`, c) >= 0 {
			return false
		}
	}
	return plainEscapes(escaped) && plainSegments(escaped)
}

// lookalikes become dots and slashes where a path is normalized (Unicode, NFKC).
const lookalikes = "\u2024\u2025\u2026\ufe52\uff0e\u2044\u2215\uff0f\u2216\ufe68\uff3c"

// plainEscapes refuses the escapes of bytes that mean something in a path, to whom
// decodes it once or twice, and of what is no UTF-8, of which some make dots and
// slashes.
func plainEscapes(escaped string) bool {
	if strings.IndexByte(escaped, '%') < 0 {
		return true
	}
	decoded, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(decoded) || strings.ContainsAny(decoded, lookalikes) || !plainSegments(decoded) {
		return false
	}
	for rest := escaped; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return true
		}
		c := unhex(after[0])<<4 | unhex(after[1])
		if c < ' ' || c == 0x7f || strings.IndexByte(`./\;%?#*`, c) >= 0 {
			return false
		}
		rest = after[2:]
	}
}

// unhex takes a digit that was checked before.
func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// plainSegments refuses //, and segments of dots alone, whatever white space is around
// them, which some cut off.
func plainSegments(escaped string) bool {
	if strings.Contains(escaped, "//") {
		return false
	}
	for segment := range strings.SplitSeq(escaped, "/") {
		if segment != "" && strings.TrimFunc(segment, isDotOrSpace) == "" {
			return false
		}
	}
	return true
}

func isDotOrSpace(r rune) bool { return r == '.' || unicode.IsSpace(r) }

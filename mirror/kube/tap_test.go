package kube

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// tap is where the requests of a Source leave for the network. It notes them, and
// may answer one itself, ask for something else or hold watches back.
type tap struct {
	mu      sync.Mutex                         // guards the rest
	asked   []*http.Request                    // as they came
	answer  func(*http.Request) *http.Response // nil, or returns nil, to pass the request on
	change  func(url.Values)                   // nil, or changes what a watch asks for
	streams []*stallable

	// politely ends a watch that breaks in order, as a proxy may, so that client-go
	// goes on from where it was.
	politely bool
}

func (p *tap) on(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) { return p.pass(next, request) })
	})
	return config
}

func (p *tap) pass(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked = append(p.asked, request)
	answer, change := p.answer, p.change
	p.mu.Unlock()
	if answer != nil {
		if response := answer(request); response != nil {
			return response, nil
		}
	}
	if !isWatch(request) {
		return next.RoundTrip(request)
	}
	if change != nil {
		query := request.URL.Query()
		change(query)
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
	}
	response, err := next.RoundTrip(request)
	if err == nil {
		p.add(request, response)
	}
	return response, err
}

func (p *tap) add(request *http.Request, response *http.Response) {
	s := &stallable{ReadCloser: response.Body, path: request.URL.Path, politely: p.politely, closed: make(chan struct{})}
	response.Body = s
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams = append(p.streams, s)
}

func (p *tap) setAnswer(answer func(*http.Request) *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// requests returns those so far that the test is interested in.
func (p *tap) requests(which func(*http.Request) bool) []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*http.Request
	for _, request := range p.asked {
		if which(request) {
			found = append(found, request)
		}
	}
	return found
}

// stall has no more news come through the watches that run of secrets in the
// namespace. Those that begin later are well.
func (p *tap) stall(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		if strings.Contains(s.path, "/namespaces/"+namespace+"/") {
			s.stalled.Store(true)
		}
	}
}

// stallable is a body of an answer.
type stallable struct {
	io.ReadCloser
	path     string
	politely bool
	stalled  atomic.Bool
	close    sync.Once
	closed   chan struct{}
}

func (s *stallable) Read(buffer []byte) (int, error) {
	n, err := s.ReadCloser.Read(buffer)
	if s.stalled.Load() {
		<-s.closed
		return 0, net.ErrClosed
	}
	if err != nil && s.politely {
		err = io.EOF
	}
	return n, err
}

func (s *stallable) Close() error {
	s.close.Do(func() { close(s.closed) })
	return s.ReadCloser.Close()
}

func isWatch(request *http.Request) bool { return request.URL.Query().Get("watch") != "" }

// isBeginning knows a watch that begins with all that is there.
func isBeginning(request *http.Request) bool {
	return isWatch(request) && request.URL.Query().Get("sendInitialEvents") == "true"
}

// page is an answer with a body.
func page(request *http.Request, code int, kind, body string) *http.Response {
	return &http.Response{
		Status:     http.StatusText(code),
		StatusCode: code,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {kind}},
		Body:       io.NopCloser(strings.NewReader(body)),
		Request:    request,
	}
}

// answerProbes has probes alone answered with a page.
func (p *tap) answerProbes(code int, kind, body string) {
	p.setAnswer(func(request *http.Request) *http.Response {
		if !isProbe(request) {
			return nil
		}
		return page(request, code, kind, body)
	})
}

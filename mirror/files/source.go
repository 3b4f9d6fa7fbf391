package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	defaultPoll = 250 * time.Millisecond

	// Looking takes no more than a twentieth of one core, unless the directory
	// is so large that news would come too late.
	pauseFactor = 20
	maxPause    = 5 * time.Second
)

// Options are what a Source is made of.
type Options struct {
	// Dir is the directory. It may be replaced while the Source runs.
	Dir string
	// Registry is the Secret that lists the Apps. Its namespace is the default
	// of manifests that name none.
	Registry snapshot.Key
	// MayBeMissing leaves it to Run to say that Dir cannot be listed. It is looked at
	// again and again. Default: New says so.
	MayBeMissing bool
	// Poll is how often the directory is looked at. A look that finds nothing
	// new reads no file. Default: 250ms.
	Poll time.Duration
	// Logger takes what happens. Default: none.
	Logger *zap.Logger
}

// Source reads Secrets from a directory. Its methods are safe for concurrent
// use; Run is called once.
type Source struct {
	shown    string // the directory as it was given
	dir      string
	registry snapshot.Key
	poll     time.Duration
	logger   *zap.Logger
	wanted   *wanted
}

// New makes a Source. It reads nothing, but unless that may be, an error says that
// the directory does not exist or cannot be listed.
func New(o Options) (*Source, error) {
	if o.Dir == "" {
		return nil, errors.New("source files: no directory; write `source files <dir>`")
	}
	if !snapshot.ValidLabel(o.Registry.Namespace) || !snapshot.ValidSubdomain(o.Registry.Name) {
		return nil, errors.New("source files: registry is not the namespace and name of a Secret")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("source files: directory %q: %w", o.Dir, err)
	}
	if err := checkDirectory(dir); err != nil && !o.MayBeMissing {
		return nil, fmt.Errorf("source files: directory %q: %w", o.Dir, err)
	}
	s := &Source{
		shown:    o.Dir,
		dir:      dir,
		registry: o.Registry,
		poll:     o.Poll,
		logger:   o.Logger,
		wanted:   newWanted(),
	}
	if s.poll <= 0 {
		s.poll = defaultPoll
	}
	if s.logger == nil {
		s.logger = zap.NewNop()
	}
	return s, nil
}

func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist; create it, or name another")
	case err == nil && !info.IsDir():
		return errors.New("is no directory; name the directory that the files are in")
	}
	if err == nil {
		err = tryToList(dir)
	}
	if err != nil {
		return fmt.Errorf("%s; let this process list and open what is in it", reason(err))
	}
	return nil
}

func tryToList(dir string) error {
	f, err := os.Open(onlyDirectory(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Run implements mirror.Source. It starts no goroutine.
func (s *Source) Run(ctx context.Context, sink mirror.Sink) {
	l := newLooker(s, sink)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wanted.signal:
		}
		begin := time.Now()
		again := l.look(begin)
		timer.Reset(s.pause(time.Since(begin), again))
	}
}

// pause returns how long to wait after a look; again tells that something had
// not settled. That cannot shorten the pause that follows from what a look costs:
// somebody may touch a file all the time.
func (s *Source) pause(took time.Duration, again bool) time.Duration {
	wait := s.poll
	if again {
		wait = min(wait, settleTime)
	}
	return max(wait, min(pauseFactor*took, maxPause))
}

// Reference implements mirror.Source.
func (s *Source) Reference(refs map[snapshot.Key]snapshot.Reference) {
	s.wanted.replace(refs)
}

// String implements mirror.Source.
func (s *Source) String() string { return "files, directory " + s.shown }

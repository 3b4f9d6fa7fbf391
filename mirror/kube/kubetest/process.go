package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	pollInterval = 20 * time.Millisecond
	stopGrace    = 5 * time.Second
	tailBytes    = 4096
)

// process is a child process whose output goes to a file. Its methods may be
// called by several goroutines.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; set before exited is closed
}

// startProcess starts the command with its output appended to the file log.
func startProcess(name, log string, cmd *exec.Cmd) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: log file: %w", name, err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	endWithParent(cmd)
	p := &process{name: name, log: log, cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: start: %w", name, err)
	}
	return p, nil
}

func (p *process) run(started chan<- error) {
	// Linux ends the child when the thread that forked it ends, not when the
	// process does: this goroutine keeps that thread for the child's life.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.exited)
}

// running is false for a process that was never started, too.
func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// kill ends the process at once, a frozen one too, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when the process has ended already
	<-p.exited
}

// terminate asks the process to end and kills it when it does not.
func (p *process) terminate() {
	_ = p.thaw()
	_ = p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopGrace):
		p.kill()
	}
}

// freeze returns when the process has stopped; connections stay open.
func (p *process) freeze() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := awaitStopped(p.cmd.Process.Pid); err != nil {
		return fmt.Errorf("%s: wait until it is frozen: %w", p.name, err)
	}
	return nil
}

func (p *process) thaw() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(signal syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("%s: does not run", p.name)
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s: %s: %w", p.name, signal, err)
	}
	return nil
}

// await calls ready until it returns nil. The error carries the end of the log.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %w\n%s", p.name, p.ending(), p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %w\n%s", p.name, ctx.Err(), err, p.tail())
		case <-ticker.C:
		}
	}
}

func (p *process) ending() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// tail is the end of the log, in whole lines.
func (p *process) tail() []byte {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	if len(content) <= tailBytes {
		return content
	}
	content = content[len(content)-tailBytes:]
	_, lines, _ := bytes.Cut(content, []byte("\n"))
	return lines
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	requestFailed    = -32803
	requestCancelled = -32800
	patience         = 5 * time.Second // for the answer to a cancel, and for the end
)

// NextAction chooses what a branch does next. Its context ends when the branch is cancelled. An
// error ends the branch, and is what Coordinate returns.
type NextAction func(ctx context.Context, turn Turn) (Action, error)

// Host is what the client does for the server. Everything may be nil. The functions without a
// context are called one after the other, in the order of what is told, and must not wait.
type Host struct {
	Generate func(ctx context.Context, call GenerateParams) (GenerateResult, error)
	Observe  func(Observation)
	Progress func(Progress)
}

// Client is a session with a server of its own.
type Client struct {
	host     Host
	conn     *jsonrpc2.Conn
	command  *exec.Cmd
	serve    jsonrpc2.Handler
	lastID   uint64
	mu       sync.Mutex
	serving  map[jsonrpc2.ID]context.CancelFunc
	branches map[string]*branch
	ended    chan struct{}
}

type branch struct {
	next NextAction
	mu   sync.Mutex
	err  error           // what the callback returned,
	wire *jsonrpc2.Error // and how the server was told
}

type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error {
	p.ReadCloser.Close()
	return p.WriteCloser.Close()
}

// Start starts a server on a workspace, whose folder is given as a file URI.
func Start(ctx context.Context, rootURI string, host Host, command ...string) (*Client, error) {
	c := &Client{
		host:     host,
		command:  exec.Command(command[0], command[1:]...),
		serving:  map[jsonrpc2.ID]context.CancelFunc{},
		branches: map[string]*branch{},
		ended:    make(chan struct{}),
	}
	// Requests of the server may take long, so each has a goroutine of its own.
	c.serve = jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(c.answer).SuppressErrClosed())
	c.command.Stderr = os.Stderr
	in, err := c.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	stream := jsonrpc2.NewBufferedStream(pipes{out, in}, jsonrpc2.VSCodeObjectCodec{})
	open, lost := context.WithCancel(context.Background())
	c.conn = jsonrpc2.NewConn(open, stream, c)
	go func() {
		<-c.conn.DisconnectNotify()
		lost() // no callback goes on for a server that is gone
	}()
	go func() {
		defer close(c.ended)
		c.command.Process.Wait()
		select { // what it said last is read, but nothing else may hold its pipes open
		case <-c.conn.DisconnectNotify():
		case <-time.After(time.Second):
		}
		c.conn.Close()
	}()
	if err := c.hello(ctx, rootURI); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) hello(ctx context.Context, rootURI string) error {
	options := map[string]interface{}{"protocolVersions": []int{1}}
	params := map[string]interface{}{
		"processId":             os.Getpid(),
		"clientInfo":            map[string]string{"name": "promptkit-go"},
		"rootUri":               rootURI,
		"capabilities":          map[string]interface{}{},
		"initializationOptions": map[string]interface{}{"promptkit": options},
	}
	if err := c.Call(ctx, "initialize", params, nil); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "initialized", struct{}{})
}

// Close shuts the server down; one that does not end by itself is killed.
func (c *Client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.Call(ctx, "shutdown", struct{}{}, nil) == nil {
		c.conn.Notify(ctx, "exit", struct{}{})
	}
	killer := time.AfterFunc(patience, func() { c.command.Process.Kill() })
	defer killer.Stop()
	<-c.ended
}

// Call makes a request. When the context ends the server is told, and what it answers counts: a
// result is a result, so that nothing that was paid for is lost; else the context's error is.
func (c *Client) Call(ctx context.Context, method string, params, result interface{}) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	id := jsonrpc2.ID{Num: atomic.AddUint64(&c.lastID, 1)}
	call, err := c.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
	if err != nil {
		return err
	}
	err = call.Wait(ctx, result)
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	c.conn.Notify(context.Background(), "$/cancelRequest", map[string]jsonrpc2.ID{"id": id})
	wait, done := context.WithTimeout(context.Background(), patience)
	defer done()
	err = call.Wait(wait, result)
	var wire *jsonrpc2.Error
	if wait.Err() != nil || errors.As(err, &wire) && wire.Code == requestCancelled {
		return ctx.Err()
	}
	return err
}

// Run runs a request.
func (c *Client) Run(ctx context.Context, request RunParams) (result RunResult, err error) {
	return result, c.Call(ctx, "promptkit/run", request, &result)
}

// Details reads a held exchange.
func (c *Client) Details(ctx context.Context, runID string) (details ExchangeDetails, err error) {
	params := map[string]string{"runId": runID}
	return details, c.Call(ctx, "promptkit/exchange/details", params, &details)
}

// Coordinate drives a branch by a callback. When the context ends the outcome is "cancelled", and
// no error; Undelivered is then what the callback has not got.
func (c *Client) Coordinate(
	ctx context.Context, params CoordinateParams, next NextAction,
) (result CoordinateResult, err error) {
	b := &branch{next: next}
	params.CoordinationID = fmt.Sprintf("branch-%d", atomic.AddUint64(&c.lastID, 1))
	c.mu.Lock()
	c.branches[params.CoordinationID] = b
	c.mu.Unlock()
	err = c.Call(ctx, "promptkit/coordinate", params, &result)
	c.mu.Lock()
	delete(c.branches, params.CoordinationID)
	c.mu.Unlock()
	var wire *jsonrpc2.Error
	if errors.As(err, &wire) {
		err = b.original(wire)
	}
	return result, err
}

// original is what the callback returned, where the server's error is its echo.
func (b *branch) original(told *jsonrpc2.Error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wire != nil && b.wire.Code == told.Code && b.wire.Message == told.Message {
		return b.err
	}
	return told
}

// Handle takes what the server sends: notifications in order, requests side by side.
func (c *Client) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Notif {
		c.told(req)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.serving[req.ID] = cancel
	c.mu.Unlock()
	c.serve.Handle(ctx, conn, req)
}

func (c *Client) told(req *jsonrpc2.Request) {
	var seen Observation
	var step Progress
	var cancelled struct{ ID jsonrpc2.ID }
	switch {
	case req.Params == nil:
	case req.Method == "promptkit/observation" && c.host.Observe != nil:
		if json.Unmarshal(*req.Params, &seen) == nil {
			c.host.Observe(seen)
		}
	case req.Method == "$/progress" && c.host.Progress != nil:
		if json.Unmarshal(*req.Params, &step) == nil {
			c.host.Progress(step)
		}
	case req.Method == "$/cancelRequest":
		if json.Unmarshal(*req.Params, &cancelled) == nil {
			c.finish(cancelled.ID)
		}
	}
}

func (c *Client) finish(id jsonrpc2.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.serving[id]; cancel != nil {
		cancel()
	}
	delete(c.serving, id)
}

func (c *Client) answer(
	ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request,
) (interface{}, error) {
	defer c.finish(req.ID)
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	switch {
	case req.Method == "promptkit/coordinator/next":
		return c.choose(ctx, params)
	case req.Method == "promptkit/backend/generate" && c.host.Generate != nil:
		var call GenerateParams
		if err := json.Unmarshal(params, &call); err != nil {
			return nil, toWire(err)
		}
		result, err := c.host.Generate(ctx, call)
		if err != nil {
			return nil, toWire(err)
		}
		return result, nil
	}
	return nil, &jsonrpc2.Error{
		Code: jsonrpc2.CodeMethodNotFound, Message: req.Method + " is not served",
	}
}

func (c *Client) choose(ctx context.Context, params json.RawMessage) (interface{}, error) {
	var turn Turn
	if err := json.Unmarshal(params, &turn); err != nil {
		return nil, toWire(err)
	}
	c.mu.Lock()
	b := c.branches[turn.CoordinationID]
	c.mu.Unlock()
	if b == nil {
		return nil, toWire(fmt.Errorf("there is no branch %q", turn.CoordinationID))
	}
	action, err := b.next(ctx, turn)
	if err != nil {
		wire := toWire(err)
		b.mu.Lock()
		b.err, b.wire = err, wire
		b.mu.Unlock()
		return nil, wire
	}
	return action, nil
}

// toWire is how a callback's error is told; one that is the wire's own keeps its code and data.
func toWire(err error) *jsonrpc2.Error {
	var wire *jsonrpc2.Error
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, context.Canceled):
		return &jsonrpc2.Error{Code: requestCancelled, Message: err.Error()}
	}
	return &jsonrpc2.Error{Code: requestFailed, Message: err.Error()}
}

// Failure is the server's own account of an error, nil if it is not the server's.
func Failure(err error) *ErrorData {
	var wire *jsonrpc2.Error
	var data ErrorData
	if !errors.As(err, &wire) || wire.Data == nil {
		return nil
	}
	if json.Unmarshal(*wire.Data, &data) != nil || data.Kind == "" {
		return nil
	}
	return &data
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

type line struct {
	From    string
	Message struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  *jsonrpc2.Error
	}
}

func transcripts(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(checkout, "schema", "transcripts", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	found := map[string]string{}
	for _, path := range paths {
		found[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = path
	}
	return found
}

// read gives a new value for a recorded part, nil for what this client leaves as it is.
func read(method, part string) interface{} {
	switch method + " " + part {
	case "promptkit/run params", "promptkit/prepare params":
		return &RunParams{}
	case "promptkit/run result", "promptkit/prepared/execute result":
		return &RunResult{}
	case "promptkit/prepare result":
		return &PrepareResult{}
	case "promptkit/prepared/details result":
		return &PreparedDetails{}
	case "promptkit/coordinate params":
		return &CoordinateParams{}
	case "promptkit/coordinate result":
		return &CoordinateResult{}
	case "promptkit/exchange/details result":
		return &ExchangeDetails{}
	case "promptkit/group/create result":
		return &GroupCreated{}
	case "promptkit/group/snapshot result":
		return &GroupSnapshot{}
	case "promptkit/coordinator/next params":
		return &Turn{}
	case "promptkit/coordinator/next result":
		return &Action{}
	case "promptkit/backend/generate params":
		return &GenerateParams{}
	case "promptkit/backend/generate result":
		return &GenerateResult{}
	case "promptkit/observation params":
		return &Observation{}
	case "$/progress params":
		return &Progress{}
	case " error":
		return &ErrorData{}
	}
	return nil
}

// same reads JSON strictly, writes it again, and says whether the two are the same.
func same(t *testing.T, value interface{}, recorded json.RawMessage) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(recorded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		t.Fatalf("%T: %v\n%s", value, err, recorded)
	}
	written, err := json.Marshal(value)
	check(t, err)
	var one, other interface{}
	check(t, json.Unmarshal(recorded, &one))
	check(t, json.Unmarshal(written, &other))
	if !reflect.DeepEqual(one, other) {
		t.Fatalf("%T\nrecorded %s\nwritten  %s", value, recorded, written)
	}
}

func TestRecordedMessagesAreReadAndSayTheSameWhenWritten(t *testing.T) {
	for name, path := range transcripts(t) {
		if name == "errors" { // it holds requests that are wrong on purpose
			continue
		}
		file, err := os.Open(path)
		check(t, err)
		defer file.Close()
		methods := map[string]string{}
		scanner := bufio.NewScanner(file)
		scanner.Buffer(nil, 1<<24)
		for scanner.Scan() {
			var one line
			check(t, json.Unmarshal(scanner.Bytes(), &one))
			said := one.Message
			other := map[string]string{"client": "server", "server": "client"}[one.From]
			method := said.Method
			if method != "" {
				methods[one.From+string(said.ID)] = method
			} else {
				method = methods[other+string(said.ID)]
			}
			switch {
			case said.Params != nil:
				if value := read(method, "params"); value != nil {
					same(t, value, said.Params)
				}
			case said.Error != nil && one.From == "server" && Failure(said.Error) != nil:
				same(t, read("", "error"), *said.Error.Data)
			case said.Result != nil:
				if value := read(method, "result"); value != nil {
					same(t, value, said.Result)
				}
			}
		}
		check(t, scanner.Err())
	}
}

// model answers as a scenario says, then does what comes after.
type model struct {
	answers []string
	asked   chan struct{}
	after   func()
}

func (m *model) generate(ctx context.Context, _ GenerateParams) (GenerateResult, error) {
	if len(m.answers) == 0 {
		close(m.asked)
		<-ctx.Done()
		return GenerateResult{}, ctx.Err()
	}
	answer := m.answers[0]
	m.answers = m.answers[1:]
	if m.after != nil {
		time.AfterFunc(10*time.Millisecond, m.after)
	}
	return GenerateResult{Content: answer}, nil
}

func study() RunParams {
	return RunParams{
		PromptID: "research/study", Variables: map[string]interface{}{"case": "bridge"}, Capture: true,
	}
}

func investigate(question string) RunParams {
	return RunParams{
		PromptID: "research/investigate", Variables: map[string]interface{}{"question": question},
	}
}

func draft() RunParams {
	return RunParams{
		PromptID:  "review/draft",
		Variables: map[string]interface{}{"sentence": "The comittee have decided to wait."},
		Capture:   true,
	}
}

func revise(finding string) Action {
	return Continue(RunParams{
		PromptID: "review/revise", Variables: map[string]interface{}{"findings": []string{finding}},
	})
}

// one after the other.
func one(actions ...Action) NextAction {
	return func(context.Context, Turn) (Action, error) {
		action := actions[0]
		actions = actions[1:]
		return action, nil
	}
}

const damage, first = "What is the worst damage?", "What should be done first?"

type scenario func(t *testing.T, ctx context.Context, c *Client, m *model)

var scenarios = map[string]scenario{
	"run": func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		request := study()
		request.Observe = "mine"
		done, err := c.Run(ctx, request)
		check(t, err)
		details, err := c.Details(ctx, done.RunID)
		check(t, err)
		if len(details.Messages) != 3 || details.Content != done.Content {
			t.Fatalf("got %+v", details)
		}
	},
	"continue": func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		done, err := c.Run(ctx, study())
		check(t, err)
		request := investigate(damage)
		request.ContinueFrom = done.RunID
		second, err := c.Run(ctx, request)
		check(t, err)
		request = investigate("Is it wet?")
		request.ContinueFrom = second.RunID
		request.SessionID = "s-1"
		cache := map[string]json.RawMessage{"ttl": json.RawMessage(`"1h"`)}
		request.Messages = []Message{{Role: "user", Content: "Bitte kurz: naß? 🌉", Cache: cache}}
		third, err := c.Run(ctx, request)
		check(t, err)
		check(t, c.Call(ctx, "promptkit/exchange/release", map[string]string{"runId": done.RunID}, nil))
		details, err := c.Details(ctx, third.RunID)
		check(t, err)
		if *details.ParentRunID != second.RunID || details.Content != "Bitte kurz: naß? 🌉" {
			t.Fatalf("got %+v", details)
		}
	},
	"branch": func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		start, err := c.Run(ctx, study())
		check(t, err)
		for _, question := range []string{damage, first} {
			request := investigate(question)
			request.ContinueFrom = start.RunID
			done, err := c.Run(ctx, request)
			check(t, err)
			if *done.ParentRunID != start.RunID {
				t.Fatalf("got %+v", done)
			}
		}
		_, err = c.Details(ctx, start.RunID)
		check(t, err)
	},
	"stopped": coordinated("stopped", 3, Continue(investigate(damage)),
		Continue(investigate(first)), Continue(investigate("Can it wait?")), Stop()),
	"exhausted": coordinated("exhausted", 1, Continue(investigate(damage)),
		Continue(investigate("Can it wait?"))),
	"callback-error": func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		start, err := c.Run(ctx, study())
		check(t, err)
		gone := &jsonrpc2.Error{Code: requestFailed, Message: "the reader has left"}
		gone.SetError(map[string]interface{}{"reader": "gone", "page": 7})
		params := CoordinateParams{Exchange: start.RunID, AdditionalTurns: 2}
		_, err = c.Coordinate(ctx, params, func(_ context.Context, turn Turn) (Action, error) {
			if turn.Result != nil {
				return Action{}, gone
			}
			return Continue(investigate(damage)), nil
		})
		if err != gone {
			t.Fatalf("got %v", err)
		}
	},
	"undelivered": func(t *testing.T, ctx context.Context, c *Client, m *model) {
		start, err := c.Run(ctx, study())
		check(t, err)
		ctx, cancel := context.WithCancel(ctx)
		m.answers, m.after = []string{"Not with the pins in this state."}, cancel
		request := investigate("May I cross it today?")
		request.Profile = "host"
		params := CoordinateParams{Exchange: start.RunID, AdditionalTurns: 2}
		ended, err := c.Coordinate(ctx, params, one(Continue(request)))
		check(t, err)
		if ended.Outcome != "cancelled" || ended.Undelivered.Content != "Not with the pins in this state." {
			t.Fatalf("got %+v", ended)
		}
	},
	"cancelled": func(t *testing.T, ctx context.Context, c *Client, m *model) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-m.asked
			cancel()
		}()
		request := hello("host")
		request.Capture, request.Observe = false, "mine"
		if _, err := c.Run(ctx, request); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	},
	"group": func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		var made GroupCreated
		var seen GroupSnapshot
		check(t, c.Call(ctx, "promptkit/group/create", struct{}{}, &made))
		groups := []string{made.GroupID}
		request := study()
		request.Groups = groups
		_, err := c.Run(ctx, request)
		check(t, err)
		request = draft()
		request.Groups = groups
		start, err := c.Run(ctx, request)
		check(t, err)
		params := CoordinateParams{Exchange: start.RunID, AdditionalTurns: 2, Groups: groups}
		actions := one(revise("the number is wrong"), revise("there is a comma too many"), Stop())
		_, err = c.Coordinate(ctx, params, actions)
		check(t, err)
		check(t, c.Call(ctx, "promptkit/group/snapshot", made, &seen))
		if len(seen.Runs) != 4 || !seen.Complete || seen.Usage.InputTokens.Complete {
			t.Fatalf("got %+v", seen)
		}
		check(t, c.Call(ctx, "promptkit/group/release", made, nil))
	},
	"repair": func(t *testing.T, ctx context.Context, c *Client, m *model) {
		m.answers = []string{"{", `{"correction": "It waits.", "withdrawn": false}`, "no", `{"n": 1}`}
		for _, status := range []string{"valid", "invalid"} {
			request := draft()
			request.Profile, request.Observe = "host", "mine"
			done, err := c.Run(ctx, request)
			check(t, err)
			if done.Validation.Status != status || done.Repairs != 1 {
				t.Fatalf("got %+v", done)
			}
		}
	},
}

func coordinated(outcome string, turns int, actions ...Action) scenario {
	return func(t *testing.T, ctx context.Context, c *Client, _ *model) {
		start, err := c.Run(ctx, study())
		check(t, err)
		params := CoordinateParams{Exchange: start.RunID, AdditionalTurns: turns}
		ended, err := c.Coordinate(ctx, params, one(append([]Action{}, actions...)...))
		check(t, err)
		if ended.Outcome != outcome {
			t.Fatalf("got %+v", ended)
		}
	}
}

func TestTheClientKeepsToTheTranscripts(t *testing.T) {
	paths := transcripts(t)
	play := filepath.Join(checkout, "tests", "transcripts", "play.py")
	for name, act := range scenarios {
		act := act
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			m := &model{asked: make(chan struct{})}
			code := filepath.Join(t.TempDir(), "code")
			script := `"$@"; echo $? > "$0"`
			c, err := Start(ctx, "file:///workspace", Host{Generate: m.generate},
				"sh", "-c", script, code, python(), play, paths[name])
			check(t, err)
			act(t, ctx, c, m)
			c.Close()
			if said, err := os.ReadFile(code); err != nil || string(said) != "0\n" {
				t.Fatalf("the player ended with %q, %v", said, err)
			}
		})
	}
}

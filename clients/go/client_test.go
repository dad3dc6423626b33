package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var checkout = func() string {
	path, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return path
}()

func python() string {
	if path := os.Getenv("PROMPTKIT_PYTHON"); path != "" {
		return path
	}
	return "python3"
}

// server is the command line of the daemon of this checkout.
func server(words ...string) []string {
	return append([]string{"env", "PYTHONPATH=" + checkout, python(), "-m", "promptkit_rpc"}, words...)
}

// workspace is a new sample workspace.
func workspace(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	words := server("init", folder)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

func start(t *testing.T, host Host) (context.Context, *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	uri, err := FileURI(workspace(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := Start(ctx, uri, host, server("serve")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return ctx, client
}

func hello(profile string) RunParams {
	return RunParams{
		PromptID:  "hello",
		Variables: map[string]interface{}{"name": "Ada"},
		Profile:   profile,
		Capture:   true,
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheAnalysisAsksAllItsQuestions(t *testing.T) {
	ctx, client := start(t, Host{})
	a := Analysis{Questions: []string{"What is the worst damage?", "Can it wait?"}}
	check(t, Analyse(ctx, client, "bridge", &a))
	var out bytes.Buffer
	a.print(&out)
	want := "What is the worst damage?\n  The rusted lower pins of two hangers.\n" +
		"  good English? Yes, it is.\nCan it wait?\n" +
		"  No, close it until the pins are replaced.\n  good English? Yes, it is.\nstopped\n"
	if out.String() != want {
		t.Fatalf("got:\n%s", out.String())
	}
}

func TestTheProgramRunsAsReadmeSays(t *testing.T) {
	command := exec.Command("go", "run", ".", "-root", workspace(t),
		"-server", strings.Join(server("serve"), " "))
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "stopped\n") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestACallbackErrorIsTheVeryError(t *testing.T) {
	ctx, client := start(t, Host{})
	first, err := client.Run(ctx, hello(""))
	check(t, err)
	gone := errors.New("the reader has left")
	params := CoordinateParams{Exchange: first.RunID, AdditionalTurns: 1}
	_, err = client.Coordinate(ctx, params, func(context.Context, Turn) (Action, error) {
		return Action{}, gone
	})
	if err != gone {
		t.Fatalf("got %v", err)
	}
}

func TestObservationsComeInOrderAndBeforeTheResult(t *testing.T) {
	var seen []Observation
	ctx, client := start(t, Host{Observe: func(o Observation) { seen = append(seen, o) }})
	for round := 0; round < 20; round++ {
		seen = nil
		request := hello("")
		request.Observe = "events"
		_, err := client.Run(ctx, request)
		check(t, err)
		if len(seen) != 5 || seen[4].Event.Kind != "runFinished" {
			t.Fatalf("got %v", seen)
		}
		for number, one := range seen {
			if one.Seq != number {
				t.Fatalf("got %v", seen)
			}
		}
	}
}

func TestACancelStopsTheHostAndTheRun(t *testing.T) {
	asked, stopped := make(chan struct{}), make(chan struct{})
	ctx, client := start(t, Host{
		Generate: func(ctx context.Context, _ GenerateParams) (GenerateResult, error) {
			close(asked)
			<-ctx.Done()
			close(stopped)
			return GenerateResult{}, ctx.Err()
		},
	})
	run, cancel := context.WithCancel(ctx)
	go func() {
		<-asked
		cancel()
	}()
	if _, err := client.Run(run, hello("host")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	<-stopped
	_, err := client.Run(ctx, hello(""))
	check(t, err)
}

func TestAnErrorOfTheServersSaysItsKind(t *testing.T) {
	ctx, client := start(t, Host{})
	_, err := client.Run(ctx, RunParams{PromptID: "hello"})
	failure := Failure(err)
	if failure == nil || failure.Kind != "templateFailed" || failure.Location.File != "prompts/hello.prompt.yaml" {
		t.Fatalf("got %v, %v", err, failure)
	}
}

func TestAServerThatIsKilledFailsWhatIsOpen(t *testing.T) {
	ctx, client := start(t, Host{})
	first, err := client.Run(ctx, hello(""))
	check(t, err)
	params := CoordinateParams{Exchange: first.RunID, AdditionalTurns: 1}
	left := make(chan struct{})
	_, err = client.Coordinate(ctx, params, func(ctx context.Context, _ Turn) (Action, error) {
		client.command.Process.Signal(syscall.SIGKILL)
		<-ctx.Done()
		close(left)
		return Action{}, ctx.Err()
	})
	if err == nil || ctx.Err() != nil {
		t.Fatalf("got %v", err)
	}
	<-left
	if _, err := client.Run(ctx, hello("")); err == nil || ctx.Err() != nil {
		t.Fatalf("got %v", err)
	}
}

func TestAServerThatEndsWhileItsPipesStayOpenIsNoticed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := Start(ctx, "file:///", Host{}, "sh", "-c", "sleep 9 2>/dev/null & exit 3")
	if err == nil || ctx.Err() != nil {
		t.Fatalf("got %v", err)
	}
}

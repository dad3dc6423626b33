// An analysis loop on PromptKit RPC: it reads a report, then asks one question after the other until
// none is left. The server keeps the history and counts the turns; this program only says what is
// asked next, and why.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// Analysis is what the program asks and has learnt.
type Analysis struct {
	Questions []string
	Answers   []string
	Opinions  []string
	Outcome   string
}

// Analyse studies a report and drives a branch from it.
func Analyse(ctx context.Context, client *Client, name string, a *Analysis) error {
	study, err := client.Run(ctx, RunParams{
		PromptID:  "research/study",
		Variables: map[string]interface{}{"case": name},
		Capture:   true,
	})
	if err != nil {
		return err
	}
	params := CoordinateParams{Exchange: study.RunID, AdditionalTurns: len(a.Questions)}
	ended, err := client.Coordinate(ctx, params, func(ctx context.Context, turn Turn) (Action, error) {
		if turn.Result != nil {
			a.Answers = append(a.Answers, turn.Result.Content)
			if err := a.hearOpinion(ctx, client); err != nil {
				return Action{}, err
			}
		}
		if len(a.Answers) == len(a.Questions) {
			return Stop(), nil
		}
		question := a.Questions[len(a.Answers)]
		return Continue(RunParams{
			PromptID:  "research/investigate",
			Variables: map[string]interface{}{"question": question},
		}), nil
	})
	a.Outcome = ended.Outcome
	return err
}

// hearOpinion runs another prompt inside the callback, on the same backend.
func (a *Analysis) hearOpinion(ctx context.Context, client *Client) error {
	opinion, err := client.Run(ctx, RunParams{
		PromptID:  "review/assess",
		Variables: map[string]interface{}{"sentence": a.Answers[len(a.Answers)-1]},
	})
	a.Opinions = append(a.Opinions, opinion.Content)
	return err
}

func (a *Analysis) print(out io.Writer) {
	for number, answer := range a.Answers {
		fmt.Fprintf(out, "%s\n  %s\n  good English? %s\n", a.Questions[number], answer, a.Opinions[number])
	}
	fmt.Fprintf(out, "%s\n", a.Outcome)
}

// FileURI is the URI of a folder.
func FileURI(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), err
}

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "a folder that `promptkit-rpc init` made")
	server := flag.String("server", "promptkit-rpc serve", "the server's command line")
	flag.Parse()
	uri, err := FileURI(*root)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := Start(ctx, uri, Host{}, strings.Fields(*server)...)
	if err != nil {
		log.Fatal(err)
	}
	analysis := Analysis{Questions: []string{
		"What is the worst damage?", "What should be done first?", "Can it wait another year?",
	}}
	err = Analyse(ctx, client, "bridge", &analysis)
	analysis.print(os.Stdout)
	client.Close()
	if err != nil {
		log.Fatal(err)
	}
}

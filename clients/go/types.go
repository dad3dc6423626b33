package main

import "encoding/json"

// Message is one message of a conversation, exactly as authored or answered.
type Message struct {
	Role    string                     `json:"role"`
	Content string                     `json:"content"`
	Cache   map[string]json.RawMessage `json:"cache,omitempty"`
}

// Ref names an exchange by the run it came from.
type Ref struct {
	RunID       string  `json:"runId"`
	ParentRunID *string `json:"parentRunId,omitempty"`
}

// Parameters are those of a generation.
type Parameters struct {
	Temperature *float64                   `json:"temperature,omitempty"`
	MaxTokens   *int                       `json:"maxTokens,omitempty"`
	TopP        *float64                   `json:"topP,omitempty"`
	Stop        []string                   `json:"stop,omitempty"`
	Seed        *int64                     `json:"seed,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

// OutputContract is what an answer must look like.
type OutputContract struct {
	Format  string          `json:"format"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Repairs *int            `json:"repairs,omitempty"`
}

// RunParams is a request. With ContinueFrom it is a continuation.
type RunParams struct {
	EngineID           string                 `json:"engineId,omitempty"`
	PromptID           string                 `json:"promptId"`
	Variables          map[string]interface{} `json:"variables,omitempty"`
	Profile            string                 `json:"profile,omitempty"`
	Parameters         *Parameters            `json:"parameters,omitempty"`
	Output             *OutputContract        `json:"output,omitempty"`
	SessionID          string                 `json:"sessionId,omitempty"`
	Messages           []Message              `json:"messages,omitempty"`
	Credential         string                 `json:"credential,omitempty"`
	Capture            bool                   `json:"capture,omitempty"`
	ContinueFrom       string                 `json:"continueFrom,omitempty"`
	Groups             []string               `json:"groups,omitempty"`
	Observe            string                 `json:"observe,omitempty"`
	PartialResultToken string                 `json:"partialResultToken,omitempty"`
	WorkDoneToken      string                 `json:"workDoneToken,omitempty"`
	TimeoutMs          int                    `json:"timeoutMs,omitempty"`
}

// TokenTotal is one count; Value is nil where nothing is known.
type TokenTotal struct {
	Value    *int64 `json:"value"`
	Complete bool   `json:"complete"`
}

// Usage is what an attempt, a run or a group used.
type Usage struct {
	InputTokens         TokenTotal `json:"inputTokens"`
	OutputTokens        TokenTotal `json:"outputTokens"`
	TotalTokens         TokenTotal `json:"totalTokens"`
	CachedInputTokens   TokenTotal `json:"cachedInputTokens"`
	CacheCreationTokens TokenTotal `json:"cacheCreationTokens"`
	ReasoningTokens     TokenTotal `json:"reasoningTokens"`
}

// Violation is one fault of an answer.
type Violation struct {
	Path       string  `json:"path"`
	Keyword    string  `json:"keyword"`
	Message    string  `json:"message"`
	SchemaPath *string `json:"schemaPath,omitempty"`
}

// Validation is the verdict on an answer: valid, invalid or notRequired.
type Validation struct {
	Status     string      `json:"status"`
	Violations []Violation `json:"violations"`
}

// RunResult is a completed run.
type RunResult struct {
	RunID            string          `json:"runId"`
	ParentRunID      *string         `json:"parentRunId,omitempty"`
	Content          string          `json:"content"`
	Structured       json.RawMessage `json:"structured,omitempty"`
	Validation       Validation      `json:"validation"`
	FinishReason     string          `json:"finishReason"`
	Refusal          *string         `json:"refusal,omitempty"`
	Usage            Usage           `json:"usage"`
	Attempts         int             `json:"attempts"`
	TransientRetries int             `json:"transientRetries"`
	Repairs          int             `json:"repairs"`
	Profile          string          `json:"profile"`
	Backend          string          `json:"backend"`
	Model            string          `json:"model"`
	SessionID        *string         `json:"sessionId,omitempty"`
	Exchange         *Ref            `json:"exchange,omitempty"`
}

// ExchangeDetails is a held conversation, or a page of it.
type ExchangeDetails struct {
	RunID       string    `json:"runId"`
	ParentRunID *string   `json:"parentRunId,omitempty"`
	Messages    []Message `json:"messages"`
	Content     string    `json:"content"`
	NextCursor  *string   `json:"nextCursor,omitempty"`
}

// PreparedDetails is what a prepared execution will send.
type PreparedDetails struct {
	PromptID         string         `json:"promptId"`
	Profile          string         `json:"profile"`
	Backend          string         `json:"backend"`
	Model            string         `json:"model"`
	Parameters       Parameters     `json:"parameters"`
	SessionID        *string        `json:"sessionId,omitempty"`
	Output           OutputContract `json:"output"`
	Messages         []Message      `json:"messages"`
	ParentRunID      *string        `json:"parentRunId,omitempty"`
	Capture          bool           `json:"capture"`
	CredentialSource *string        `json:"credentialSource"`
}

// PrepareResult is a new single-use handle.
type PrepareResult struct {
	PreparedID string          `json:"preparedId"`
	Details    PreparedDetails `json:"details"`
}

// CoordinateParams starts a branch; Client.Coordinate fills in its name.
type CoordinateParams struct {
	Exchange           string   `json:"exchange"`
	AdditionalTurns    int      `json:"additionalTurns"`
	CoordinationID     string   `json:"coordinationId,omitempty"`
	EngineID           string   `json:"engineId,omitempty"`
	Groups             []string `json:"groups,omitempty"`
	Observe            string   `json:"observe,omitempty"`
	CallbackTimeoutMs  int      `json:"callbackTimeoutMs,omitempty"`
	PartialResultToken string   `json:"partialResultToken,omitempty"`
	WorkDoneToken      string   `json:"workDoneToken,omitempty"`
}

// CoordinateResult is how a branch ended: stopped, exhausted or cancelled. Undelivered is the one
// result that a cancel kept from the callback.
type CoordinateResult struct {
	Outcome     string     `json:"outcome"`
	Undelivered *RunResult `json:"undelivered,omitempty"`
}

// Turn is what a callback gets: the latest exchange, and the result just made, nil at first.
type Turn struct {
	CoordinationID string     `json:"coordinationId"`
	Exchange       Ref        `json:"exchange"`
	RemainingTurns int        `json:"remainingTurns"`
	DeliveryIndex  int        `json:"deliveryIndex"`
	Result         *RunResult `json:"result,omitempty"`
}

// Action is what a callback answers; see Continue and Stop.
type Action struct {
	Action  string     `json:"action"`
	Request *RunParams `json:"request,omitempty"`
}

// Continue asks for another turn.
func Continue(request RunParams) Action { return Action{Action: "continue", Request: &request} }

// Stop ends a branch.
func Stop() Action { return Action{Action: "stop"} }

// GenerateParams asks the host's own model.
type GenerateParams struct {
	RunID              string          `json:"runId"`
	Attempt            int             `json:"attempt"`
	Backend            string          `json:"backend"`
	PromptID           string          `json:"promptId"`
	Model              string          `json:"model"`
	Parameters         Parameters      `json:"parameters"`
	Output             OutputContract  `json:"output"`
	Messages           []Message       `json:"messages"`
	SessionID          *string         `json:"sessionId,omitempty"`
	PartialResultToken json.RawMessage `json:"partialResultToken,omitempty"`
}

// GenerateResult is its answer.
type GenerateResult struct {
	Content      string           `json:"content"`
	FinishReason string           `json:"finishReason,omitempty"`
	Refusal      string           `json:"refusal,omitempty"`
	Usage        map[string]int64 `json:"usage,omitempty"`
}

// GroupCreated is a new group.
type GroupCreated struct {
	GroupID string `json:"groupId"`
}

// GroupSnapshot is a group at one moment.
type GroupSnapshot struct {
	GroupID string `json:"groupId"`
	Runs    []struct {
		RunID    string `json:"runId"`
		Terminal bool   `json:"terminal"`
	} `json:"runs"`
	Complete         bool  `json:"complete"`
	Attempts         int   `json:"attempts"`
	TransientRetries int   `json:"transientRetries"`
	Repairs          int   `json:"repairs"`
	Usage            Usage `json:"usage"`
}

// ErrorNote is an error as an event tells it.
type ErrorNote struct {
	Kind       string  `json:"kind"`
	Reason     *string `json:"reason,omitempty"`
	HTTPStatus *int    `json:"httpStatus,omitempty"`
}

// Event is one of the events of a run; Kind says which, and so which fields are there.
type Event struct {
	Kind             string     `json:"kind"`
	Time             float64    `json:"time"`
	PromptID         *string    `json:"promptId,omitempty"`
	Profile          *string    `json:"profile,omitempty"`
	Backend          *string    `json:"backend,omitempty"`
	Model            *string    `json:"model,omitempty"`
	ParentRunID      *string    `json:"parentRunId,omitempty"`
	WaitedMs         *int       `json:"waitedMs,omitempty"`
	Attempt          *int       `json:"attempt,omitempty"`
	FinishReason     *string    `json:"finishReason,omitempty"`
	DelayMs          *int       `json:"delayMs,omitempty"`
	Reason           *string    `json:"reason,omitempty"`
	Violations       *int       `json:"violations,omitempty"`
	Outcome          *string    `json:"outcome,omitempty"`
	Attempts         *int       `json:"attempts,omitempty"`
	TransientRetries *int       `json:"transientRetries,omitempty"`
	Repairs          *int       `json:"repairs,omitempty"`
	Usage            *Usage     `json:"usage,omitempty"`
	Validation       *string    `json:"validation,omitempty"`
	Error            *ErrorNote `json:"error,omitempty"`
}

// Observation is one event of one run.
type Observation struct {
	Token json.RawMessage `json:"token"`
	RunID string          `json:"runId"`
	Seq   int             `json:"seq"`
	Event Event           `json:"event"`
}

// Progress is a step for people, or a piece of text with its attempt.
type Progress struct {
	Token json.RawMessage `json:"token"`
	Value struct {
		Kind        *string `json:"kind,omitempty"`
		Title       *string `json:"title,omitempty"`
		Cancellable *bool   `json:"cancellable,omitempty"`
		Message     *string `json:"message,omitempty"`
		Attempt     *int    `json:"attempt,omitempty"`
		Text        *string `json:"text,omitempty"`
		Reset       *bool   `json:"reset,omitempty"`
	} `json:"value"`
}

// ErrorData is the data of an error of the server's own.
type ErrorData struct {
	Kind      string  `json:"kind"`
	Retryable bool    `json:"retryable"`
	RunID     *string `json:"runId,omitempty"`
	Location  *struct {
		File   string `json:"file"`
		Line   *int   `json:"line,omitempty"`
		Column *int   `json:"column,omitempty"`
	} `json:"location,omitempty"`
	Cause []struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"cause,omitempty"`
	Invalid []struct {
		Path    string `json:"path"`
		Message string `json:"message"`
	} `json:"invalid,omitempty"`
	Reason       *string `json:"reason,omitempty"`
	Origin       *string `json:"origin,omitempty"`
	HTTPStatus   *int    `json:"httpStatus,omitempty"`
	RetryAfterMs *int    `json:"retryAfterMs,omitempty"`
	Attempts     *int    `json:"attempts,omitempty"`
}

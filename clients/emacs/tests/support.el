;;; support.el --- What tests share  -*- lexical-binding: t; -*-

;;; Commentary:

;; A workspace of scripted answers, a user who answers as told, and bounded waits.

;;; Code:

(require 'buttercup)
(require 'cl-lib)
(require 'promptkit)

(defconst tests-checkout
  (expand-file-name "../../.." (file-name-directory (or load-file-name buffer-file-name))))

(defconst tests-python (or (getenv "PROMPTKIT_PYTHON") (error "PROMPTKIT_PYTHON is not set")))

(setenv "PYTHONPATH" tests-checkout)
(setq promptkit-command (list tests-python "-m" "promptkit_rpc" "serve"))

(defconst tests-files
  '(("promptkit.yaml" . "version: 1
backends:
  demo: {kind: scripted, replies: replies.yaml, capacity: 1}
  host: {kind: client, capacity: 1, retry: {attempts: 2, baseDelay: 0.001, maxDelay: 0.01}}
  keyed:
    kind: openai
    baseUrl: http://127.0.0.1:9/v1
    credential: {client: vault}
    retry: {attempts: 1}
profiles:
  demo: {backend: demo, model: scripted}
  host: {backend: host, model: any}
  keyed: {backend: keyed, model: any}
")
    ("replies.yaml" . "
- match: {promptId: study}
  content: \"A bridge with rust.\\nIt is old.\"
  usage: {inputTokens: 61, outputTokens: 9}
- match: {contains: worst}
  content: The lower pins.
- match: {contains: first}
  content: A load test.
- match: {promptId: draft}
  json: {n: 1}
")
    ("prompts/study.prompt.yaml" . "description: Says what a report is about
profile: demo
variables: {case: {type: string, description: Name of a report}}
messages:
  - {role: system, content: Be brief., cache: {type: ephemeral}}
  - {role: user, content: \"About {{ case }}?\"}
")
    ("prompts/deep/question.prompt.yaml" . "profile: demo
variables: {question: {type: string}}
messages: [{role: user, content: \"{{ question }}\"}]
")
    ("prompts/typed.prompt.yaml" . "profile: demo
variables:
  count: {type: integer}
  loud: {type: boolean}
  tone: {enum: [kind, stern]}
  tags: {type: array}
  depth: {type: integer, default: 2}
messages:
  - role: user
    content: \"{{ count + 1 }} {{ loud }} {{ tone }} {{ tags[0] }} {{ depth }}\"
")
    ("prompts/draft.prompt.yaml" . "profile: demo
messages: [{role: user, content: Draft it.}]
output: {format: schema, schema: {type: object, required: [text]}}
")
    ("prompts/live.prompt.yaml" . "profile: host
messages: [{role: user, content: Live.}]
")
    ("prompts/locked.prompt.yaml" . "profile: keyed
messages: [{role: user, content: Locked.}]
")
    ("prompts/bare.prompt.yaml" . "profile: demo
messages: [{role: user, content: \"Hi {{ name }}\"}]
"))
  "A workspace, file by file.")

(defvar tests-questions nil "What the user was asked, newest first.")
(defvar tests-answers nil "What the user will answer: a string, or `quit'.")
(defvar tests-messages nil "What the user was told, newest first.")

(defun tests-open ()
  "Make a workspace and go there."
  (let ((root (file-truename (make-temp-file "promptkit-" t))))
    (pcase-dolist (`(,name . ,content) tests-files)
      (let ((path (expand-file-name name root)))
        (make-directory (file-name-directory path) t)
        (write-region content nil path nil 'silent)))
    (setq default-directory (file-name-as-directory root))))

(defun tests-close ()
  "End all servers and forget all that was shown and said."
  (mapc #'promptkit-stop (mapcar #'cdr promptkit--connections))
  (dolist (buffer (buffer-list))
    (when (string-prefix-p "*promptkit" (buffer-name buffer))
      (kill-buffer buffer)))
  (delete-directory default-directory t)
  (setq default-directory "/" promptkit-generate-function nil
        tests-questions nil tests-answers nil tests-messages nil))

(defun tests-answer (question &rest _)
  "Answer QUESTION as told."
  (push question tests-questions)
  (pcase (pop tests-answers)
    ('nil (error "Nobody answers: %s" question))
    ('quit (signal 'quit nil))
    ('default "")
    ((and (pred functionp) wait) (funcall wait))
    (answer answer)))

(defun tests-choose (question collection &rest _)
  "Choose the first of COLLECTION that starts with the answer to QUESTION."
  (let ((answer (tests-answer question)))
    (or (seq-find (lambda (name) (string-prefix-p answer name))
                  (mapcar (lambda (item) (if (consp item) (car item) item)) collection))
        (error "No choice %s for %s" answer question))))

(defun tests-user (&rest answers)
  "Have a user give ANSWERS, in order."
  (setq tests-answers answers)
  (spy-on 'completing-read :and-call-fake #'tests-choose)
  (spy-on 'read-string :and-call-fake
          (lambda (question &optional _initial _history default &rest _)
            (let ((answer (tests-answer question)))
              (if (equal answer "") (or default "") answer))))
  (spy-on 'y-or-n-p :and-call-fake (lambda (question) (equal "y" (tests-answer question))))
  (spy-on 'message :and-call-fake
          (lambda (format &rest values)
            (when format (push (apply #'format format values) tests-messages)))))

(defun tests-wait (what condition)
  "Wait until CONDITION holds; WHAT says what that means."
  (let ((end (+ (float-time) 10)))
    (while (not (funcall condition))
      (when (> (float-time) end)
        (buttercup-fail "It did not happen: %s\nmessages: %S\nshown: %S"
                        what tests-messages (tests-text)))
      (accept-process-output nil 0.02))))

(defun tests-text (&optional name)
  "The text of the buffer NAME, with what stands beside its headings."
  (if-let ((buffer (get-buffer (or name "*promptkit*"))))
      (with-current-buffer buffer
        (concat (buffer-substring-no-properties (point-min) (point-max))
                (mapconcat (lambda (overlay) (or (overlay-get overlay 'after-string) ""))
                           (sort (overlays-in (point-min) (point-max))
                                 (lambda (one other) (< (overlay-start one) (overlay-start other))))
                           "\n")))
    ""))

(defun tests-shown (part &optional name)
  "Wait until the buffer NAME shows PART."
  (tests-wait (format "%S is shown" part) (lambda () (string-search part (tests-text name)))))

(defun tests-told (part)
  "Wait until the user is told PART."
  (tests-wait (format "%S is told" part)
              (lambda () (seq-find (lambda (one) (string-search part one)) tests-messages))))

(defun tests-captured ()
  "Run a prompt to its end; return the run id."
  (let ((before (length (promptkit--exchanges (promptkit-connect)))))
    (push "bridge" tests-answers)
    (promptkit-run "study")
    (tests-wait "an exchange"
                (lambda () (> (length (promptkit--exchanges (promptkit-connect))) before)))
    (caar (promptkit--exchanges (promptkit-connect)))))

(provide 'support)
;;; support.el ends here

;;; promptkit-tests.el --- The commands against the real server  -*- lexical-binding: t; -*-

;;; Commentary:

;; The user's answers are played; all else is as in use.

;;; Code:

(require 'support)

(defmacro tests-with-model (arguments &rest body)
  "Let BODY, a function of ARGUMENTS, be the model."
  (declare (indent 1))
  `(setq promptkit-generate-function (lambda ,arguments ,@body)))

(describe "Runs"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (it "ask for what the prompt declares and show the answer"
    (tests-user "study" "bridge")
    (promptkit-run)
    (tests-shown "70 tokens")
    (expect (nreverse tests-questions)
            :to-equal '("Prompt: " "case (Name of a report): "))
    (expect (tests-text) :to-match "\\`# study\n\nA bridge with rust.\nIt is old.\n"))

  (it "ask for variables by type, again if wrong, and leave defaults to the prompt"
    (tests-user "many" "3" "true" "stern" "[\"a\"]" "")
    (promptkit-run "typed")
    (tests-shown "4 True stern a 2")
    (expect (nth 4 tests-questions) :to-equal "count, as JSON: ")
    (expect (car tests-questions) :to-equal "depth (integer) (default 2): ")
    (tests-user "1" "false" "kind" "[\"b\"]" "7")
    (promptkit-run "typed")
    (tests-shown "2 False kind b 7"))

  (it "ask for further variables with a prefix argument"
    (tests-user "name" "Ada" "")
    (let ((current-prefix-arg '(4)))
      (promptkit-run "bare"))
    (tests-shown "Hi Ada"))

  (it "start nothing when a question is quit"
    (tests-user 'quit)
    (expect (condition-case nil (promptkit-run "study") (quit 'quit)) :to-be 'quit)
    (expect (tests-text) :to-equal ""))

  (it "stream text, and take it back when an attempt is abandoned"
    (let (fail finish)
      (tests-with-model (params piece reply)
        (if (= 1 (plist-get params :attempt))
            (progn
              (funcall piece "Good mor")
              (setq fail (lambda () (funcall reply :error "slow down"
                                             :data '(:reason "rateLimited")))))
          (funcall piece "Hello, ")
          (setq finish (lambda ()
                         (funcall piece "Ada 🌉.")
                         (funcall reply :result '(:content "Hello, Ada 🌉."
                                                  :usage (:inputTokens 7)))))))
      (promptkit-run "live")
      (tests-shown "# live\n\nGood mor")
      (funcall fail)
      (tests-shown "# live\n\nHello, ")
      (funcall finish)
      (tests-shown "unknown tokens")
      (expect (tests-text) :to-match "\\`# live\n\nHello, Ada 🌉.\n")))

  (it "stream into their own sections when there are two at once"
    (write-region "version: 1
backends: {host: {kind: client}}
profiles: {host: {backend: host, model: any}}\n" nil "promptkit.yaml" nil 'silent)
    (let (replies)
      (tests-with-model (_params piece reply)
        (push reply replies)
        (funcall piece (format "one %d" (length replies))))
      (promptkit-run "live")
      (tests-shown "one 1")
      (promptkit-run "live")
      (tests-shown "one 2")
      (funcall (cadr replies) :result '(:content "one 1\ntwo 1"))
      (tests-shown "# live\n\none 1\ntwo 1\n\n# live\n\none 2\n")
      (funcall (car replies) :result '(:content "one 2\ntwo 2"))
      (tests-shown "# live\n\none 1\ntwo 1\n\n# live\n\none 2\ntwo 2\n")))

  (it "are cancelled, and the model is told that nobody waits"
    (let ((stopped nil) (asked nil))
      (tests-with-model (&rest _)
        (setq asked t)
        (lambda () (setq stopped t)))
      (promptkit-run "live")
      (tests-wait "the model is asked" (lambda () asked))
      (promptkit-cancel)
      (tests-shown "cancelled")
      (tests-wait "the model is told" (lambda () stopped))
      (promptkit-cancel)
      (tests-told "Nothing is running")))

  (it "tell an error with its place"
    (promptkit-run "bare")
    (tests-told "prompts/bare.prompt.yaml:2:")
    (expect (condition-case err (promptkit-run "nothing/here") (user-error (cadr err)))
            :to-match "nothing/here"))

  (it "show the faults of an answer that breaks its contract"
    (promptkit-run "draft")
    (tests-shown "invalid")
    (expect (tests-text) :to-match "{\"n\":1}\n> /: \"text\" is a required property"))

  (it "need a model where the editor is to be one"
    (promptkit-run "live")
    (tests-told "set `promptkit-generate-function'"))

  (it "get a key from the function that is set, and show it nowhere"
    (let ((promptkit-credential-function (lambda (name) (concat "sk-canary-" name))))
      (promptkit-run "locked")
      (tests-told "127.0.0.1"))
    (expect (format "%s%S" (tests-text) tests-messages) :not :to-match "canary"))

  (it "ask for a key that no secret store has"
    (let ((auth-sources nil))
      (spy-on 'read-passwd :and-return-value "")
      (promptkit-run "locked")
      (tests-told "vault")
      (expect 'read-passwd :to-have-been-called-with "PromptKit key vault: ")))

  (it "end when the server dies"
    (let (asked)
      (tests-with-model (&rest _) (setq asked t))
      (promptkit-run "live")
      (tests-wait "the model is asked" (lambda () asked))
      (kill-process (jsonrpc--process (promptkit-connect)))
      (tests-told "Server died"))))

(describe "Continuations"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (it "go on from the latest exchange or a chosen one, which stays as it was"
    (let ((first (tests-captured)))
      (tests-user "deep/question" "What is the worst?")
      (promptkit-continue)
      (tests-shown "The lower pins.")
      (tests-shown (concat "# deep/question, after " first))
      (tests-wait "an exchange" (lambda () (cdr (promptkit--exchanges (promptkit-connect)))))
      (tests-user first "deep/question" "What comes first?")
      (promptkit-branch)
      (tests-shown "A load test.")
      (tests-wait "an exchange" (lambda () (cddr (promptkit--exchanges (promptkit-connect)))))
      (promptkit-details)
      (let ((page (tests-text "*promptkit exchange*")))
        (expect page :to-match (concat ", after " first))
        (expect page :to-match "## system  cache {\"type\":\"ephemeral\"}\n\nBe brief.")
        (expect page :to-match "A load test.")
        (expect page :not :to-match "worst"))))

  (it "need an exchange"
    (expect (condition-case err (promptkit-continue "study") (user-error (cadr err)))
            :to-match "No exchange is held yet")))

(describe "Coordinations"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (it "ask for every next action and deliver every answer, at capacity 1"
    (tests-captured)
    (tests-user "deep/question" "What is the worst?" "deep/question" "What comes first?" "Stop")
    (promptkit-coordinate 2)
    (tests-told "ended: stopped")
    (expect (tests-text) :to-match "The lower pins.")
    (expect (tests-text) :to-match "A load test.")
    (expect (car tests-questions) :to-match "turns left: 0")
    (promptkit-usage)
    (expect (tests-text "*promptkit usage*") :to-match "runs: 3"))

  (it "are exhausted by asking for more than the budget"
    (tests-captured)
    (tests-user "deep/question" "What is the worst?")
    (promptkit-coordinate 0)
    (tests-told "ended: exhausted"))

  (it "are cancelled by quitting a question"
    (tests-captured)
    (tests-user 'quit)
    (promptkit-coordinate)
    (tests-told "ended: cancelled"))

  (it "take a question back when they are cancelled"
    (tests-captured)
    (tests-user (lambda () (tests-wait "the question is taken back" #'ignore)))
    (let ((asked (length tests-questions)))
      (promptkit-coordinate)
      (run-at-time 0.2 nil #'promptkit-cancel)
      (tests-told "ended: cancelled")
      (expect (length tests-questions) :to-be-greater-than asked)))

  (it "show an answer that a cancel kept from being delivered"
    (tests-captured)
    (tests-user "live")
    (tests-with-model (_params _piece reply)
      (funcall reply :result '(:content "Paid for."))
      (promptkit-cancel))
    (promptkit-coordinate 2)
    (tests-told "ended: cancelled")
    (expect (tests-text) :to-match "Paid for."))

  (it "end with the error of a turn"
    (tests-captured)
    (tests-user "live")
    (promptkit-coordinate)
    (tests-told "set `promptkit-generate-function'")))

(describe "Previews and usage"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (it "show what would be sent; nothing is sent until it is wanted"
    (tests-user "bridge" "n")
    (promptkit-preview "study")
    (expect (tests-text "*promptkit preview*") :to-match "backend: demo\n")
    (expect (tests-text "*promptkit preview*") :to-match "About bridge\\?")
    (expect (tests-text) :to-equal "")
    (tests-user "tower" "y")
    (promptkit-preview "study")
    (tests-shown "70 tokens")
    (promptkit-usage)
    (expect (tests-text "*promptkit usage*") :to-match "runs: 1"))

  (it "never show an unknown count as 0"
    (tests-captured)
    (promptkit-run "draft")
    (tests-shown "invalid")
    (promptkit-usage)
    (let ((page (tests-text "*promptkit usage*")))
      (expect page :to-match "runs: 2")
      (expect page :to-match "^total +at least 70$")
      (expect page :to-match "^input +at least 61$")
      (expect page :to-match "^  reasoning +unknown$"))))

(describe "Servers"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (it "are shared by all buffers of a workspace, and restarted"
    (tests-captured)
    (let ((first (promptkit-connect)))
      (with-temp-buffer
        (setq default-directory (expand-file-name "prompts/deep/" (promptkit--root first)))
        (expect (promptkit-connect) :to-be first))
      (with-current-buffer "*promptkit*"
        (expect (promptkit-connect) :to-be first))
      (promptkit-restart)
      (tests-told "restarted")
      (expect (promptkit-connect) :not :to-be first)
      (expect (promptkit--exchanges (promptkit-connect)) :to-be nil)))

  (it "that cannot be started are told"
    (dolist (program '("/nonexistent/server" "no-such-server"))
      (let ((promptkit-command (list program)))
        (expect (condition-case err (promptkit-run "study") (user-error (cadr err)))
                :to-match (concat program " cannot be run")))))

  (it "that end at once are told"
    (let ((promptkit-command '("sh" "-c" "exit 3")))
      (expect (promptkit-run "study") :to-throw 'user-error))
    (expect promptkit--connections :to-be nil))

  (it "that refuse the protocol are told, and ended"
    (spy-on 'promptkit--initialize :and-call-fake
            (lambda (connection)
              (promptkit-ask connection 'initialize
                             '(:initializationOptions (:promptkit (:protocolVersions [99]))))))
    (expect (condition-case err (promptkit-run "study") (user-error (cadr err)))
            :to-match "no common protocol version")
    (expect promptkit--connections :to-be nil))

  (it "report a workspace's problems"
    (write-region "profil: demo\n" nil "prompts/broken.prompt.yaml" nil 'silent)
    (spy-on 'display-warning)
    (tests-captured)
    (tests-wait "a warning" (lambda () (spy-calls-any 'display-warning)))
    (expect (cadr (spy-calls-args-for 'display-warning 0)) :to-match "broken.prompt.yaml")))

;;; promptkit-tests.el ends here

;;; promptkit.el --- Run, continue and coordinate prompts  -*- lexical-binding: t; -*-

;; Author: The PromptKit RPC authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, processes
;; URL: https://example.org/promptkit-rpc
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Runs the prompts of a workspace (a folder with promptkit.yaml), keeps what was said, and
;; continues it in as many branches as you like.  The work is done by a server that is started when
;; first needed: promptkit-rpc serve.
;;
;; M-x promptkit-run asks for a prompt and its variables; the answer is streamed into *promptkit*.
;; promptkit-continue, promptkit-branch and promptkit-coordinate go on from it.

;;; Code:

(require 'cl-lib)
(require 'promptkit-client)
(require 'promptkit-view)
(require 'subr-x)

(defcustom promptkit-capture t
  "Whether runs keep their exchange, so that they can be continued."
  :type 'boolean :group 'promptkit)

(defcustom promptkit-turns 3
  "How many turns a coordination may take, unless a prefix argument says so."
  :type 'natnum :group 'promptkit)

;;; Questions

(defun promptkit--read-prompt (connection question &rest more)
  "Ask QUESTION, answered by a prompt's id from CONNECTION or one of MORE."
  (let* ((items (plist-get (promptkit-ask connection 'promptkit/prompt/list nil) :items))
         (described (mapcar (lambda (item) (cons (plist-get item :name)
                                                 (plist-get item :description)))
                            items))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (when-let ((description (cdr (assoc name described))))
                    (concat "  " description))))))
    (completing-read question (append more (mapcar #'car described)) nil t)))

(defun promptkit--read-variable (variable)
  "Ask for the value of VARIABLE, and return it in a list.
Nil is a value left to the prompt."
  (let* ((schema (and (listp (plist-get variable :schema)) (plist-get variable :schema)))
         (type (plist-get schema :type))
         (about (delq nil (list (plist-get schema :description)
                                (and (stringp type) (not (equal type "string")) type))))
         (label (concat (plist-get variable :name)
                        (and about (format " (%s)" (string-join about ", ")))))
         (optional (not (eq t (plist-get variable :required))))
         (default (and optional (plist-member variable :default)
                       (let ((value (plist-get variable :default)))
                         (if (stringp value) value (promptkit--json value)))))
         (choices (if (equal type "boolean") [t :json-false] (plist-get schema :enum))))
    (if choices
        (let ((values (mapcar (lambda (value)
                                (cons (if (stringp value) value (promptkit--json value)) value))
                              choices)))
          (list (cdr (assoc (completing-read (format-prompt label default) values nil t
                                             nil nil default)
                            values))))
      (cl-loop
       for text = (read-string (format-prompt label default) nil nil default)
       if (and optional (equal text (or default ""))) return nil
       if (member type '(nil "string")) return (list text)
       do (condition-case nil
              (cl-return (list (json-parse-string text :null-object nil
                                                  :false-object :json-false)))
            (json-error (setq label (format "%s, as JSON" (plist-get variable :name)))))))))

(defun promptkit--read-more ()
  "Ask for further variables, until there is no name."
  (cl-loop for name = (read-string "Further variable (empty: none): ")
           until (string-empty-p name)
           nconc (list (intern (concat ":" name)) (read-string (format-prompt name nil)))))

(defun promptkit--request (connection prompt &rest more)
  "A request for PROMPT of CONNECTION, its variables asked for, with MORE fields."
  (let ((declared (plist-get (promptkit-ask connection 'promptkit/prompt/inspect
                                            `(:promptId ,prompt))
                             :variables)))
    `(:promptId ,prompt
      :variables ,(append
                   (cl-loop for variable across declared
                            for value = (promptkit--read-variable variable)
                            when value
                            nconc (cons (intern (concat ":" (plist-get variable :name))) value))
                   (and (consp current-prefix-arg) (promptkit--read-more)))
      ,@more)))

(defun promptkit--read-exchange (connection)
  "Ask for one of the exchanges held by CONNECTION."
  (let ((labels (mapcar (pcase-lambda (`(,run ,prompt ,parent))
                          (cons (format "%s  (%s%s)" run prompt
                                        (if parent (concat ", after " parent) ""))
                                run))
                        (or (promptkit--exchanges connection)
                            (user-error "PromptKit: No exchange is held yet")))))
    (cdr (assoc (completing-read "Exchange: " labels nil t) labels))))

(defun promptkit--latest (connection)
  "The run whose exchange is CONNECTION's latest."
  (or (caar (promptkit--exchanges connection))
      (user-error "PromptKit: No exchange is held yet")))

;;; Runs

(defun promptkit--collector (connection)
  "The group joined by every run on CONNECTION."
  (or (promptkit--group connection)
      (setf (promptkit--group connection)
            (plist-get (promptkit-ask connection 'promptkit/group/create nil) :groupId))))

(defun promptkit--finish (connection section result prompt)
  "Show RESULT of PROMPT in SECTION and keep its exchange in CONNECTION."
  (promptkit--write section (promptkit--answer-text result) t)
  (promptkit--status section (promptkit--summary result))
  (when-let ((exchange (plist-get result :exchange)))
    (push (list (plist-get exchange :runId) prompt (plist-get exchange :parentRunId))
          (promptkit--exchanges connection))))

(defun promptkit--fail (section err)
  "Tell the error ERR of the run in SECTION."
  (if (eql (plist-get err :code) -32800)
      (promptkit--status section "cancelled" 'error)
    (promptkit--status section (plist-get err :message) 'error)
    (message "PromptKit: %s" (plist-get err :message))))

(defun promptkit--show-progress (section value)
  "Tell beside SECTION's heading what is being done, by VALUE."
  (when-let ((text (plist-get value :message)))
    (unless (equal (plist-get value :kind) "end")
      (promptkit--status section text))))

(defun promptkit--send (connection method params prompt title)
  "Send a run of PROMPT to CONNECTION by METHOD with PARAMS, streamed below TITLE."
  (let ((section (promptkit--section connection title)))
    (promptkit-request
     connection method params
     :on-text (lambda (text) (promptkit--write section (or text "") (null text)))
     :on-progress (apply-partially #'promptkit--show-progress section)
     :done (lambda (result) (promptkit--finish connection section result prompt))
     :fail (apply-partially #'promptkit--fail section))))

(defun promptkit--run (prompt from)
  "Run PROMPT, asking for it if nil, after the exchange of the run FROM, if any."
  (let* ((connection (promptkit-connect))
         (from (if (functionp from) (funcall from connection) from))
         (prompt (or prompt (promptkit--read-prompt connection "Prompt: ")))
         (request (promptkit--request connection prompt)))
    (promptkit--send connection 'promptkit/run
                     `(,@request :groups [,(promptkit--collector connection)]
                       ,@(and promptkit-capture '(:capture t))
                       ,@(and from `(:continueFrom ,from)))
                     prompt (if from (format "%s, after %s" prompt from) prompt))))

;;;###autoload
(defun promptkit-run (&optional prompt)
  "Run PROMPT, streaming the answer into *promptkit*.
Its declared variables are asked for; with \\[universal-argument],
others too."
  (interactive)
  (promptkit--run prompt nil))

;;;###autoload
(defun promptkit-continue (&optional prompt)
  "Continue the latest exchange with PROMPT, as `promptkit-run' does."
  (interactive)
  (promptkit--run prompt #'promptkit--latest))

;;;###autoload
(defun promptkit-branch (&optional run prompt)
  "Continue the exchange of RUN with PROMPT, as `promptkit-run' does.
Other exchanges stay as they are."
  (interactive)
  (promptkit--run prompt (or run #'promptkit--read-exchange)))

;;;###autoload
(defun promptkit-coordinate (&optional budget run)
  "Drive a branch from the exchange of RUN, while BUDGET lasts.
Before each turn and after the last you choose a prompt, or to
stop; to quit is to cancel the coordination.  BUDGET is the prefix
argument, else `promptkit-turns'; RUN is the latest."
  (interactive (list (and current-prefix-arg (prefix-numeric-value current-prefix-arg))))
  (let* ((connection (promptkit-connect))
         (run (or run (promptkit--latest connection)))
         section prompt)
    (promptkit-request
     connection 'promptkit/coordinate
     `(:exchange ,run :additionalTurns ,(or budget promptkit-turns)
       :groups [,(promptkit--collector connection)])
     :on-text (lambda (text) (promptkit--write section (or text "") (null text)))
     :next (lambda (turn reply)
             (when-let ((result (plist-get turn :result)))
               (promptkit--finish connection section result prompt)
               (setq section nil))
             (let* ((left (plist-get turn :remainingTurns))
                    (latest (plist-get (plist-get turn :exchange) :runId))
                    (current-prefix-arg nil)
                    (chosen (promptkit--read-prompt
                             connection (format "Next after %s, turns left: %d: " latest left)
                             "Stop")))
               (if (equal chosen "Stop")
                   (funcall reply :result '(:action "stop"))
                 (let ((request (promptkit--request connection chosen)))
                   (setq prompt chosen)
                   (when (> left 0)
                     (setq section (promptkit--section
                                    connection (format "%s, after %s" chosen latest))))
                   (funcall reply :result `(:action "continue" :request ,request))))))
     :done (lambda (result)
             (if-let ((undelivered (plist-get result :undelivered)))
                 (promptkit--finish connection section undelivered prompt)
               (when section
                 (promptkit--status section (plist-get result :outcome) 'error)))
             ;; After a question that is taken back has left the minibuffer.
             (run-at-time 0 nil #'message "PromptKit: The coordination ended: %s"
                          (plist-get result :outcome)))
     :fail (lambda (err)
             (promptkit--fail (or section (promptkit--section connection "coordination"))
                              err)))))

;;;###autoload
(defun promptkit-preview (&optional prompt)
  "Show exactly what running PROMPT would send; then send or discard it."
  (interactive)
  (let* ((connection (promptkit-connect))
         (prompt (or prompt (promptkit--read-prompt connection "Prompt: ")))
         (prepared (promptkit-ask
                    connection 'promptkit/prepare
                    `(,@(promptkit--request connection prompt)
                      :groups [,(promptkit--collector connection)]
                      ,@(and promptkit-capture '(:capture t)))))
         (handle `(:preparedId ,(plist-get prepared :preparedId)))
         send)
    (promptkit--page connection "*promptkit preview*"
                     (promptkit--prepared-text (plist-get prepared :details)))
    (unwind-protect
        (setq send (y-or-n-p "Send this? "))
      (unless send
        (promptkit-ask connection 'promptkit/prepared/discard handle)))
    (when send
      (promptkit--send connection 'promptkit/prepared/execute handle prompt prompt))))

;;;###autoload
(defun promptkit-cancel ()
  "Cancel what is running; ask if that is more than one."
  (interactive)
  (let* ((calls (seq-filter (lambda (call)
                              (plist-get (promptkit-call-tokens call) :workDoneToken))
                            (when-let ((connection (promptkit--running)))
                              (promptkit--calls connection))))
         (labels (cl-loop for call in calls for number from 1
                          for params = (promptkit-call-params call)
                          collect (cons (format "%d %s" number
                                                (or (plist-get params :promptId) "coordination"))
                                        call))))
    (cond ((null calls) (message "PromptKit: Nothing is running"))
          ((cdr calls)
           (promptkit-cancel-call
            (cdr (assoc (completing-read "Cancel: " labels nil t) labels))))
          (t (promptkit-cancel-call (car calls))))))

;;;###autoload
(defun promptkit-usage ()
  "Show the usage of everything that was run on this server."
  (interactive)
  (let ((connection (promptkit-connect)))
    (promptkit--page connection "*promptkit usage*"
                     (promptkit--usage-text
                      (promptkit-ask connection 'promptkit/group/snapshot
                                     `(:groupId ,(promptkit--collector connection)))))))

;;;###autoload
(defun promptkit-details (&optional run)
  "Show the conversation of RUN's exchange: the latest.
With a prefix argument, ask for it."
  (interactive (list (and current-prefix-arg (promptkit--read-exchange (promptkit-connect)))))
  (let* ((connection (promptkit-connect))
         (run (or run (promptkit--latest connection)))
         (pages (cl-loop for cursor = nil then (plist-get page :nextCursor)
                         for page = (promptkit-ask
                                     connection 'promptkit/exchange/details
                                     `(:runId ,run :maxBytes 1048576
                                       ,@(and cursor `(:cursor ,cursor))))
                         collect page while (plist-get page :nextCursor)))
         (parent (plist-get (car pages) :parentRunId)))
    (promptkit--page connection "*promptkit exchange*"
                     (format "# Exchange %s%s\n\n%s" run
                             (if parent (concat ", after " parent) "")
                             (promptkit--messages-text
                              (mapcan (lambda (page) (append (plist-get page :messages) nil))
                                      pages))))))

;;;###autoload
(defun promptkit-restart ()
  "Start a new server, without exchanges, for the current workspace."
  (interactive)
  (when-let ((running (promptkit--running)))
    (promptkit-stop running))
  (promptkit-connect)
  (message "PromptKit: The server was restarted"))

(pcase-dolist (`(,key . ,command) '(("r" . promptkit-run) ("c" . promptkit-continue)
                                    ("b" . promptkit-branch) ("C" . promptkit-coordinate)
                                    ("p" . promptkit-preview) ("d" . promptkit-details)
                                    ("u" . promptkit-usage) ("k" . promptkit-cancel)))
  (define-key promptkit-mode-map key command))

(provide 'promptkit)
;;; promptkit.el ends here

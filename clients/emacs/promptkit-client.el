;;; promptkit-client.el --- PromptKit's server, and requests to it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The connection that the commands of promptkit.el use, and other packages may: a server for each
;; workspace, requests to it, and its own requests.  Nothing here has a time limit.

;;; Code:

(require 'auth-source)
(require 'cl-lib)
(require 'jsonrpc)
(require 'subr-x)

(defgroup promptkit nil
  "Run, continue and coordinate prompts."
  :group 'tools)

(defcustom promptkit-command '("promptkit-rpc" "serve")
  "The program that is the server, and its arguments."
  :type '(repeat string))

(defcustom promptkit-root nil
  "The workspace.
If nil, the nearest folder with promptkit.yaml, else the current one."
  :type '(choice (const :tag "Where promptkit.yaml is" nil) directory))

(defcustom promptkit-settings-file nil
  "The settings file of the workspace, if it is not promptkit.yaml."
  :type '(choice (const nil) string))

(defcustom promptkit-log-size 0
  "Characters of messages kept in the events buffer; nil is no limit.
That buffer would show keys too."
  :type '(choice natnum (const nil)))

(defcustom promptkit-generate-function nil
  "The model of backends of kind `client', a function of PARAMS, PIECE and REPLY.
PARAMS is a plist with :messages, :model and more.  PIECE may be
called with each next piece of text.  REPLY is called once, with
`:result (:content TEXT)', perhaps also :usage, or with `:error
MESSAGE' and perhaps `:data (:reason REASON)'.  What the function
returns is called, if it is a function, when nobody waits for the
answer any more."
  :type '(choice (const nil) function))

(defcustom promptkit-credential-function #'promptkit-credential
  "Supplies the keys of backends with `credential: {client: NAME}'.
A function of NAME that returns a string, or nil if there is none."
  :type 'function)

;;; Connection

(defclass promptkit-connection (jsonrpc-process-connection)
  ((root :initarg :root :reader promptkit--root :documentation "The workspace.")
   (exchanges :initform nil :accessor promptkit--exchanges
              :documentation "Held exchanges, newest first, as (RUN-ID PROMPT-ID PARENT).")
   (group :initform nil :accessor promptkit--group :documentation "Collects all runs.")
   (calls :initform nil :accessor promptkit--calls :documentation "Those in flight.")
   (asked :initform nil :accessor promptkit--asked :documentation "What the server waits for."))
  :documentation "A server, and what is held in its session.")

(cl-defstruct (promptkit-call (:constructor promptkit--call) (:copier nil))
  "A request in flight."
  connection method params tokens handlers)

(cl-defstruct (promptkit--question (:constructor promptkit--question) (:copier nil))
  "A request of the server's that is answered later."
  connection id cancel)

(defvar promptkit--connections nil "Running servers, as (ROOT . CONNECTION).")
(defvar promptkit--count 0 "Makes tokens unique.")

(cl-defmethod jsonrpc-connection-send ((_connection promptkit-connection)
                                       &key id result &allow-other-keys)
  "Keep RESULT back if it is no answer yet, but remember its ID."
  (if (promptkit--question-p result)
      (setf (promptkit--question-id result) id)
    (cl-call-next-method)))

(defun promptkit--log-options ()
  "Initargs for the size of the log, whichever jsonrpc.el there is."
  (if (memq '-events-buffer-config
            (mapcar #'eieio-slot-descriptor-name (eieio-class-slots 'jsonrpc-connection)))
      `(:events-buffer-config (:size ,promptkit-log-size :format full))
    `(:events-buffer-scrollback-size ,promptkit-log-size)))

(defun promptkit--start (root)
  "Start a server for the workspace ROOT."
  (unless (executable-find (car promptkit-command))
    (user-error "PromptKit: %s cannot be run; see `promptkit-command'" (car promptkit-command)))
  (let* ((name (format "PromptKit %s" (file-name-nondirectory root)))
         (default-directory (file-name-as-directory root))
         (process
          (lambda ()
            (make-process :name name :command promptkit-command :connection-type 'pipe
                          :coding 'utf-8-emacs-unix :noquery t
                          :stderr (get-buffer-create (format "*%s stderr*" name)))))
         (connection
          (apply #'make-instance 'promptkit-connection :name name :process process :root root
                 :request-dispatcher #'promptkit--answer-request
                 :notification-dispatcher #'promptkit--notified
                 :on-shutdown #'promptkit--forget
                 (promptkit--log-options))))
    (condition-case err
        (promptkit--initialize connection)
      ((error quit)
       (jsonrpc-shutdown connection)
       (signal (car err) (cdr err))))
    (push (cons root connection) promptkit--connections)
    connection))

(defun promptkit--initialize (connection)
  "Introduce ourselves to CONNECTION's server."
  (let ((options `(:protocolVersions [1] :root ,(promptkit--root connection)
                   ,@(and promptkit-settings-file `(:config ,promptkit-settings-file)))))
    (promptkit-ask connection 'initialize
                   `(:processId ,(emacs-pid) :capabilities ,(make-hash-table)
                     :initializationOptions (:promptkit ,options)))
    (jsonrpc-notify connection 'initialized (make-hash-table))))

(defun promptkit--forget (connection)
  "Note that CONNECTION has ended."
  (setq promptkit--connections (rassq-delete-all connection promptkit--connections)))

(defun promptkit--here ()
  "The workspace of the current buffer."
  (directory-file-name
   (expand-file-name
    (or promptkit-root (locate-dominating-file default-directory "promptkit.yaml")
        default-directory))))

(defun promptkit--running ()
  "The connection to the current workspace's server, if there is one."
  (let ((connection (cdr (assoc (promptkit--here) promptkit--connections))))
    (and connection (jsonrpc-running-p connection) connection)))

(defun promptkit-connect ()
  "Return the connection to the current workspace's server.
Start the server if need be."
  (or (promptkit--running) (promptkit--start (promptkit--here))))

(defun promptkit-stop (connection)
  "End CONNECTION's server in good order."
  (ignore-errors
    (promptkit-ask connection 'shutdown nil)
    (jsonrpc-notify connection 'exit nil)
    (with-timeout (5)
      (while (jsonrpc-running-p connection)
        (accept-process-output nil 0.05))))
  (jsonrpc-shutdown connection t))

;;; Requests

(cl-defun promptkit-request (connection method params &rest handlers
                                        &key on-text on-event &allow-other-keys)
  "Send METHOD with PARAMS to CONNECTION, without a time limit; return the call.
HANDLERS are functions, all optional: `:done' gets the result,
`:fail' the error, a plist; one of them is called once.
`:on-text' gets each next piece of the answer, or nil when all
pieces so far are void; ON-TEXT has it streamed.  `:on-event' gets
each observation; ON-EVENT has them sent.  `:on-progress' gets
what is being done, for people.  `:next' gets each turn of a
coordination and a function to call once, with `:result ACTION',
or with `:error MESSAGE', and perhaps :code and :data."
  (let* ((number (cl-incf promptkit--count))
         (token (lambda (kind) (format "%s-%d" kind number)))
         (tokens
          (append
           (and on-text `(:partialResultToken ,(funcall token "text")))
           (and on-event `(:observe ,(funcall token "events")))
           (and (eq method 'promptkit/coordinate) `(:coordinationId ,(funcall token "branch")))
           (and (memq method '(promptkit/run promptkit/coordinate promptkit/prepared/execute))
                `(:workDoneToken ,(funcall token "work")))))
         (call (promptkit--call :connection connection :method method :params params
                                :tokens tokens :handlers handlers))
         (end (lambda (handler value)
                (setf (promptkit--calls connection) (delq call (promptkit--calls connection)))
                (when-let ((function (plist-get handlers handler)))
                  (funcall function value)))))
    (push call (promptkit--calls connection))
    (condition-case err
        (jsonrpc-async-request connection method (append params tokens)
                               :success-fn (apply-partially end :done)
                               :error-fn (apply-partially end :fail)
                               :timeout nil)
      (error (funcall end :fail `(:code -1 :message ,(error-message-string err)))))
    call))

(defun promptkit-ask (connection method params)
  "Send METHOD with PARAMS to CONNECTION and wait for the result.
Signal a `user-error' if there is none."
  (let (answer)
    (promptkit-request connection method params
                       :done (lambda (result) (setq answer (list result)))
                       :fail (lambda (err) (setq answer (list nil err))))
    (while (not answer)
      (accept-process-output nil 0.05))
    (when-let ((err (cadr answer)))
      (user-error "PromptKit: %s" (plist-get err :message)))
    (car answer)))

(defun promptkit-cancel-call (call)
  "Ask the server to cancel CALL, which ends when it has."
  (when-let ((token (plist-get (promptkit-call-tokens call) :workDoneToken)))
    (jsonrpc-notify (promptkit-call-connection call)
                    'window/workDoneProgress/cancel `(:token ,token))))

(defun promptkit--of (connection token)
  "The call of CONNECTION that TOKEN belongs to."
  (seq-find (lambda (call) (member token (promptkit-call-tokens call)))
            (promptkit--calls connection)))

(defun promptkit--tell (call handler &rest values)
  "Call CALL's HANDLER with VALUES, if it has one."
  (when-let ((function (and call (plist-get (promptkit-call-handlers call) handler))))
    (apply function values)))

(defun promptkit--notified (connection method params)
  "CONNECTION's server has told METHOD with PARAMS."
  (with-demoted-errors "PromptKit: %S"
    (let ((call (promptkit--of connection (plist-get params :token)))
          (value (plist-get params :value)))
      (pcase method
        ('promptkit/observation (promptkit--tell call :on-event params))
        ((and '$/progress (guard (plist-get value :kind)))
         (promptkit--tell call :on-progress value))
        ('$/progress (promptkit--tell call :on-text (plist-get value :text)))
        ('$/cancelRequest (promptkit--not-asked connection (plist-get params :id)))
        ((or 'window/logMessage 'window/showMessage)
         (if (<= (plist-get params :type) 2)
             (display-warning 'promptkit (plist-get params :message))
           (message "PromptKit: %s" (plist-get params :message))))))))

;;; What the server asks

(defun promptkit--answer-request (connection method params)
  "CONNECTION's server asks METHOD with PARAMS; answer later.
The process filter, where this is called, is no place to ask a user."
  (let ((answer (pcase method
                  ('promptkit/coordinator/next #'promptkit--answer-next)
                  ('promptkit/backend/generate #'promptkit--answer-generate)
                  ('promptkit/credential/get #'promptkit--answer-credential)
                  (_ (jsonrpc-error :code -32601 :message "No such method"))))
        (question (promptkit--question :connection connection)))
    (push question (promptkit--asked connection))
    (run-at-time 0 nil #'promptkit--answering answer question params)
    question))

(defun promptkit--answering (answer question params)
  "Call ANSWER with QUESTION and PARAMS, where the user may be asked.
QUESTION is the tag to throw to when nobody waits any more."
  (let ((enable-recursive-minibuffers t)
        (inhibit-quit nil))
    (when (memq question (promptkit--asked (promptkit--question-connection question)))
      (catch question
        (condition-case err
            (funcall answer question params)
          (error (promptkit--reply question :error (error-message-string err)))
          (quit (promptkit--reply question :error "The user quit")))))))

(cl-defun promptkit--reply (question &key result error (code -32803) data)
  "Answer QUESTION with RESULT, or with ERROR, CODE and DATA, unless nobody waits."
  (let ((connection (promptkit--question-connection question)))
    (when (memq question (promptkit--asked connection))
      (setf (promptkit--asked connection) (delq question (promptkit--asked connection)))
      (apply #'jsonrpc-connection-send connection :id (promptkit--question-id question)
             (if error
                 `(:error (:code ,code :message ,error ,@(and data `(:data ,data))))
               `(:result ,result))))))

(defun promptkit--not-asked (connection id)
  "CONNECTION's server does not wait for the answer to request ID any more."
  (when-let ((question (seq-find (lambda (one) (eql id (promptkit--question-id one)))
                                 (promptkit--asked connection))))
    (setf (promptkit--asked connection) (delq question (promptkit--asked connection)))
    (run-at-time 0 nil (or (promptkit--question-cancel question)
                           (lambda () (ignore-errors (throw question nil)))))))

(defun promptkit--answer-next (question params)
  "Have QUESTION, for a coordination's turn PARAMS, answered by its owner."
  (let* ((connection (promptkit--question-connection question))
         (call (promptkit--of connection (plist-get params :coordinationId)))
         (next (and call (plist-get (promptkit-call-handlers call) :next))))
    (condition-case nil
        (if next
            (funcall next params (apply-partially #'promptkit--reply question))
          (promptkit--reply question :error "No such coordination is under way here"))
      (quit                             ; nothing was chosen, so nothing is assumed
       (promptkit-cancel-call call)
       (promptkit--reply question :error "Cancelled" :code -32800)))))

(defun promptkit--answer-generate (question params)
  "Have `promptkit-generate-function' answer QUESTION, a generation with PARAMS."
  (let ((connection (promptkit--question-connection question))
        (token (plist-get params :partialResultToken)))
    (if promptkit-generate-function
        (let ((cancel (funcall promptkit-generate-function params
                               (lambda (text)
                                 (when (and token (memq question (promptkit--asked connection)))
                                   (jsonrpc-notify connection '$/progress
                                                   `(:token ,token :value (:text ,text)))))
                               (apply-partially #'promptkit--reply question))))
          (when (functionp cancel)
            (setf (promptkit--question-cancel question) cancel)))
      (promptkit--reply question :error "No model here: set `promptkit-generate-function'"
                        :data '(:reason "badRequest" :retryable :json-false)))))

(defun promptkit--answer-credential (question params)
  "Answer QUESTION with the key that PARAMS name."
  (let ((key (funcall promptkit-credential-function (plist-get params :name))))
    (promptkit--reply question :result (if key `(:credential ,key) (make-hash-table)))))

(defun promptkit-credential (name)
  "The key NAME from `auth-sources', host promptkit; else ask for it."
  (or (auth-source-pick-first-password :host "promptkit" :user name)
      (let ((key (read-passwd (format "PromptKit key %s: " name))))
        (unless (string-empty-p key) key))))

(provide 'promptkit-client)
;;; promptkit-client.el ends here

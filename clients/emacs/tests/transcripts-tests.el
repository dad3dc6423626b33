;;; transcripts-tests.el --- Recorded sessions are played  -*- lexical-binding: t; -*-

;;; Commentary:

;; A server plays each transcript and holds the client to its part; what it says must come out of
;; the public calls unchanged.

;;; Code:

(require 'support)

(defconst transcripts-folder (expand-file-name "schema/transcripts/" tests-checkout))
(defconst transcripts-life '("initialize" "initialized" "shutdown" "exit"))
(defconst transcripts-tokens '(:observe :partialResultToken :workDoneToken :coordinationId))

(defun transcripts-read (file)
  "The lines of FILE."
  (with-temp-buffer
    (insert-file-contents (expand-file-name file transcripts-folder))
    (cl-loop until (eobp)
             collect (json-parse-buffer :object-type 'plist :null-object nil
                                        :false-object :json-false)
             do (forward-line))))

(defun transcripts-get (value &rest fields)
  "What VALUE has at the path FIELDS."
  (cl-loop for field in fields do (setq value (plist-get value field)))
  value)

(defun transcripts-without (plist &rest fields)
  "PLIST without FIELDS."
  (cl-loop for (field value) on plist by #'cddr
           unless (memq field fields) nconc (list field value)))

(defun transcripts-messages (lines from)
  "The messages of LINES that FROM has said."
  (cl-loop for line in lines
           when (equal from (plist-get line :from)) collect (plist-get line :message)))

(defun transcripts-until-answer (lines request)
  "What the server says in LINES from REQUEST on, its answer last."
  (cl-loop with asked = nil
           for line in lines for message = (plist-get line :message)
           do (setq asked (or asked (eq message request)))
           when (and asked (equal "server" (plist-get line :from))) collect message into said
           until (and said (not (plist-get message :method))
                      (eql (plist-get message :id) (plist-get request :id))
                      (equal "server" (plist-get line :from)))
           finally return said))

(defun transcripts-told (said token)
  "The params in SAID that TOKEN is told."
  (cl-loop for message in said
           for params = (and (plist-get message :method) (plist-get message :params))
           when (and token (equal token (plist-get params :token)))
           collect (transcripts-without params :token)))

(defun transcripts-answerer (lines cancel)
  "A function that answers the server's requests in LINES, in order.
It gets the pieces' function and that of the answer; CANCEL is
called where the client cancels after it."
  (let ((asked (seq-filter (lambda (message)
                             (and (plist-get message :method) (plist-get message :id)))
                           (transcripts-messages lines "server")))
        (said (transcripts-messages lines "client")))
    (lambda (piece reply)
      (let* ((request (pop asked))
             (token (transcripts-get request :params :partialResultToken))
             (answer (seq-find (lambda (message)
                                 (and (not (plist-get message :method))
                                      (eql (plist-get message :id) (plist-get request :id))))
                               said)))
        (dolist (message said)
          (when (and token (equal token (transcripts-get message :params :token)))
            (funcall piece (transcripts-get message :params :value :text))))
        (when answer
          (if-let ((err (plist-get answer :error)))
              (funcall reply :error (plist-get err :message) :code (plist-get err :code)
                       :data (plist-get err :data))
            (funcall reply :result (plist-get answer :result))))
        (when (or (not answer)
                  (equal "$/cancelRequest"
                         (plist-get (cadr (memq answer said)) :method)))
          (funcall cancel))))))

(defun transcripts-request (connection lines request answerer done)
  "Send REQUEST of LINES to CONNECTION, with ANSWERER; return the call.
DONE is called with what was heard, and what should have been."
  (let* ((params (plist-get request :params))
         (said (transcripts-until-answer lines request))
         (answer (car (last said)))
         events texts steps
         (end (lambda (field value)
                (funcall done
                         (list field value (nreverse events) (nreverse texts) (nreverse steps))
                         (list (if (plist-member answer :error) :error :result)
                               (or (plist-get answer :error) (plist-get answer :result))
                               (transcripts-told said (plist-get params :observe))
                               (mapcar (lambda (told) (transcripts-get told :value :text))
                                       (transcripts-told
                                        said (plist-get params :partialResultToken)))
                               (mapcar (lambda (told) (plist-get told :value))
                                       (transcripts-told
                                        said (plist-get params :workDoneToken))))))))
    (apply #'promptkit-request connection (intern (plist-get request :method))
           (apply #'transcripts-without params transcripts-tokens)
           :next (lambda (_turn reply) (funcall answerer #'ignore reply))
           :done (apply-partially end :result)
           :fail (apply-partially end :error)
           `(,@(and (plist-get params :observe)
                    (list :on-event
                          (lambda (told) (push (transcripts-without told :token) events))))
             ,@(and (plist-get params :partialResultToken)
                    (list :on-text (lambda (text) (push text texts))))
             ,@(and (plist-get params :workDoneToken)
                    (list :on-progress (lambda (value) (push value steps))))))))

(defun transcripts-play (file)
  "Do through public calls what the client does in FILE."
  (let* ((lines (transcripts-read file))
         (promptkit-command
          (list tests-python (expand-file-name "tests/transcripts/play.py" tests-checkout)
                (expand-file-name file transcripts-folder)))
         (connection (promptkit-connect))
         (process (jsonrpc--process connection))
         (answerer (transcripts-answerer
                    lines (lambda () (mapc #'promptkit-cancel-call
                                           (promptkit--calls connection)))))
         heard)
    (setq promptkit-generate-function
          (lambda (_params piece reply) (funcall answerer piece reply)))
    (dolist (line lines)
      (let* ((message (plist-get line :message))
             (id (plist-get message :id)))
        (cond
         ((or (not id) (member (plist-get message :method) transcripts-life)))
         ((and (equal "client" (plist-get line :from)) (plist-get message :method))
          (push (cons id nil) heard)
          (transcripts-request connection lines message answerer
                               (lambda (&rest pair) (setcdr (assq id heard) pair))))
         ((and (equal "server" (plist-get line :from)) (not (plist-get message :method))
               (assq id heard))
          (tests-wait (format "the answer to request %d" id)
                      (lambda () (cdr (assq id heard))))))))
    (pcase-dolist (`(,_ ,actual ,expected) heard)
      (expect actual :to-equal expected))
    (promptkit-stop connection)
    (expect (process-exit-status process) :to-be 0)))

(describe "Transcripts"
  (before-each (tests-open) (tests-user))
  (after-each (tests-close))

  (dolist (file (directory-files transcripts-folder nil "\\.jsonl\\'"))
    (it (concat file " is played through the public calls")
      (transcripts-play file)))

  (it "are there"
    (expect (directory-files transcripts-folder nil "\\.jsonl\\'"))))

;;; transcripts-tests.el ends here

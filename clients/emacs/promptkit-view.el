;;; promptkit-view.el --- PromptKit's buffers, and values as text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the commands of promptkit.el show: a section for each run in *promptkit*, into which its
;; text is streamed, and pages.  An unknown count is never shown as 0.

;;; Code:

(require 'cl-lib)
(require 'promptkit-client)
(require 'subr-x)

;;; Buffers

(defvar promptkit-mode-map (make-sparse-keymap)
  "Keys of the buffers that show answers.")

(define-derived-mode promptkit-mode special-mode "PromptKit"
  "Major mode of the buffers that show answers and conversations."
  (visual-line-mode))

(defun promptkit--buffer (name root)
  "The buffer NAME, in `promptkit-mode', for the workspace ROOT."
  (with-current-buffer (get-buffer-create name)
    (unless (derived-mode-p 'promptkit-mode)
      (promptkit-mode))
    (setq default-directory (file-name-as-directory root))
    (current-buffer)))

(defun promptkit--page (connection name text)
  "Show TEXT in the buffer NAME, for CONNECTION's workspace."
  (with-current-buffer (promptkit--buffer name (promptkit--root connection))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text "\n")
      (goto-char (point-min)))
    (display-buffer (current-buffer))))

(cl-defstruct (promptkit--section (:copier nil))
  "Where a run's answer stands: markers around it, and an overlay that tells how it goes."
  start end status)

(defun promptkit--section (connection title)
  "Add a section with TITLE to the answers of CONNECTION, and show it."
  (with-current-buffer (promptkit--buffer "*promptkit*" (promptkit--root connection))
    (let ((inhibit-read-only t)
          (following (seq-filter (lambda (window) (= (window-point window) (point-max)))
                                 (get-buffer-window-list nil nil t)))
          section)
      (goto-char (point-max))
      (unless (bobp) (insert "\n"))
      (insert "# " title)
      (let ((status (make-overlay (line-beginning-position) (point))))
        (insert "\n\n")
        (setq section (make-promptkit--section
                       :start (point-marker) :end (copy-marker (point) t) :status status))
        (insert "\n")
        (set-marker (promptkit--section-end section) (promptkit--section-start section)))
      (dolist (window following)
        (set-window-point window (point-max)))
      (promptkit--status section "…")
      (display-buffer (current-buffer))
      section)))

(defun promptkit--status (section text &optional face)
  "Tell TEXT in FACE beside the heading of SECTION."
  (overlay-put (promptkit--section-status section) 'after-string
               (propertize (concat "  " text) 'face (or face 'shadow))))

(defun promptkit--write (section text &optional afresh)
  "Add TEXT to SECTION; if AFRESH, in place of all that was there."
  (when-let ((buffer (marker-buffer (promptkit--section-start section))))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (save-excursion
          (when afresh
            (delete-region (promptkit--section-start section) (promptkit--section-end section)))
          (goto-char (promptkit--section-end section))
          (insert text))))))

;;; Values as text

(defun promptkit--tokens (count)
  "The token COUNT for people; an unknown one is never shown as 0."
  (let ((value (plist-get count :value)))
    (cond ((null value) "unknown")
          ((eq t (plist-get count :complete)) (number-to-string value))
          (t (format "at least %d" value)))))

(defun promptkit--usage-text (snapshot)
  "A group's SNAPSHOT for people."
  (let ((open (cl-loop for run across (plist-get snapshot :runs)
                       unless (eq t (plist-get run :terminal)) collect (plist-get run :runId))))
    (concat
     (format "# Usage of this session\n\nruns: %d%s\ncalls: %d, retries: %d, repairs: %d\n"
             (length (plist-get snapshot :runs))
             (if open (concat ", not ended: " (string-join open ", ")) "")
             (plist-get snapshot :attempts) (plist-get snapshot :transientRetries)
             (plist-get snapshot :repairs))
     (cl-loop for (field name) in '((:totalTokens "total") (:inputTokens "input")
                                    (:cachedInputTokens "  read from a cache")
                                    (:cacheCreationTokens "  written to a cache")
                                    (:outputTokens "output") (:reasoningTokens "  reasoning"))
              concat (format "\n%-20s %s" name
                             (promptkit--tokens
                              (plist-get (plist-get snapshot :usage) field)))))))

(defun promptkit--messages-text (messages)
  "MESSAGES for people, each under its role."
  (mapconcat (lambda (message)
               (format "## %s%s\n\n%s" (plist-get message :role)
                       (if-let ((cache (plist-get message :cache)))
                           (concat "  cache " (promptkit--json cache))
                         "")
                       (plist-get message :content)))
             messages "\n\n"))

(defun promptkit--json (value)
  "VALUE as JSON."
  (json-serialize value :null-object nil :false-object :json-false))

(defun promptkit--prepared-text (details)
  "What a prepared execution will send, by its DETAILS, for people."
  (concat "# " (plist-get details :promptId) "\n\n"
          (cl-loop for (field value) on details by #'cddr
                   unless (or (memq field '(:promptId :messages)) (null value))
                   concat (format "%s: %s\n" (substring (symbol-name field) 1)
                                  (if (stringp value) value (promptkit--json value))))
          "\n" (promptkit--messages-text (plist-get details :messages))))

(defun promptkit--summary (result)
  "How a run with RESULT ended."
  (let ((status (plist-get (plist-get result :validation) :status)))
    (concat (plist-get result :runId) ", "
            (promptkit--tokens (plist-get (plist-get result :usage) :totalTokens)) " tokens"
            (unless (equal (plist-get result :finishReason) "stop")
              (concat ", finished by " (plist-get result :finishReason)))
            (unless (equal status "notRequired") (concat ", " status)))))

(defun promptkit--answer-text (result)
  "The answer of RESULT, and what is wrong with it."
  (concat (plist-get result :content)
          (cl-loop for violation across (plist-get (plist-get result :validation) :violations)
                   for path = (plist-get violation :path)
                   concat (format "\n> %s: %s" (if (string-empty-p path) "/" path)
                                  (plist-get violation :message)))))

(provide 'promptkit-view)
;;; promptkit-view.el ends here

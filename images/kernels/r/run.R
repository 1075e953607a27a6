# One execution after another, with the `evaluate` package. Interrupts are let through only while user code runs.

current <- NULL

serve <- function() {
  options(device = new_device, warn = 1, width = 100, menu.graphics = FALSE, jupyter.rich_display = FALSE)
  # It would end the process; here it ends the code, also when a package calls it.
  end_code <- function(save = "no", status = 0, runLast = TRUE) {
    if (Sys.getpid() != kernel) leave("no", status, FALSE)
    invokeRestart("sandbar_quit", as.integer(status))
  }
  replace_in_base(
    q = end_code,
    quit = end_code,
    # There is no console to step with, and without one it would step for ever.
    browser = function(text = "", condition = NULL, expr = TRUE, skipCalls = 0L) invisible()
  )
  say_line(sprintf("{\"op\":\"ready\",\"fresh_pipes\":%s}", if (replaceable) "true" else "false"))
  suspendInterrupts(repeat {
    keep_spare()
    request <- receive()
    switch(request$op, run = run(request), enter = enter(request), state = answer_state(request), complete = answer_completion(request), dump = dump_state(request), load = load_state(request))
  })
}

# As evaluate opens it: plots can be had from it.
new_device <- function(...) {
  grDevices::pdf(NULL)
  grDevices::dev.control("enable")
}

replace_in_base <- function(...) {
  functions <- list(...)
  for (name in names(functions)) {
    unlockBinding(name, baseenv())
    assign(name, functions[[name]], baseenv())
    lockBinding(name, baseenv())
  }
}

enter <- function(request) {
  say(tryCatch({
    setwd(request$folder)
    list(op = "answer", result = list())
  }, error = function(condition) list(op = "answer", error = conditionMessage(condition))))
}

run <- function(request) {
  if (!is.null(request$pipes)) take_pipes(request$pipes)
  keep_spare()
  current <<- list2env(list(id = request$id, value_limit = request$mime_value_limit, left = request$mime_total_limit, error = NULL, quit = NULL, calls = NULL))
  saved <- set_env(request$env)
  # One that came while nothing ran is nobody's.
  tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(condition) NULL)
  tempdir(check = TRUE)
  interrupted <- FALSE
  withRestarts(
    tryCatch(
      allowInterrupts(evaluator(
        gsub("\r\n", "\n", request$code, fixed = TRUE), envir = globalenv(), stop_on_error = 1L, keep_warning = TRUE, keep_message = TRUE,
        new_device = TRUE, output_handler = handler
      )),
      interrupt = function(condition) interrupted <<- TRUE,
      error = function(condition) on_error(condition)
    ),
    sandbar_quit = function(status) current$quit <- status,
    abort = function() current$error <- list(name = "Abort", value = "the code was aborted", traceback = "invokeRestart(\"abort\")")
  )
  # A process that user code forked and that came to the end of the code: the kernel is its parent.
  if (Sys.getpid() != kernel) leave("no", 0, FALSE)
  while (sink.number() > 0L) sink()
  if (sink.number("message") != 2L) sink(type = "message")
  # What libraries in C have printed, too.
  flush(stdout())
  restore_env(saved)
  token <- token_of(request$id)
  status <- "ok"
  code <- "null"
  if (interrupted) {
    status <- "interrupted"
    say(list(op = "error", token = token, name = "Interrupted", value = "the execution was interrupted", traceback = "Interrupted"))
  } else if (!is.null(current$quit)) {
    code <- as.character(current$quit)
    if (current$quit != 0L) {
      status <- "error"
      say(list(op = "error", token = token, name = "Exit", value = code, traceback = sprintf("quit(status = %s)", code)))
    }
  } else if (!is.null(current$error)) {
    status <- "error"
    say(c(list(op = "error", token = token), current$error))
  }
  say_line(sprintf("{\"op\":\"done\",\"token\":\"%s\",\"status\":\"%s\",\"exit_code\":%s}", token, status, code))
}

publish <- function(data) {
  if (Sys.getpid() != kernel) return(invisible())
  kept <- lengths <- structure(list(), names = character())
  for (mime in names(data)) {
    value <- data[[mime]]
    value <- valid(value)
    size <- nchar(value, "chars")
    room <- min(current$value_limit, current$left)
    if (size > room) {
      lengths[[mime]] <- size
      # Half an image, page or JSON is none.
      if (room < 1L || !startsWith(mime, "text/") || mime == "text/html") next
      value <- substr(value, 1L, room)
      size <- room
    }
    current$left <- current$left - size
    kept[[mime]] <- value
  }
  if (length(kept) + length(lengths) > 0L) suspendInterrupts(say_and_wait(list(op = "result", id = current$id, data = kept, lengths = lengths, wait = TRUE)))
}

on_error <- function(condition) {
  value <- paste(valid(as.character(conditionMessage(condition))), collapse = "\n")
  call <- conditionCall(condition)
  head <- if (is.null(call)) paste0("Error: ", value) else sprintf("Error in %s: %s", deparse(call, nlines = 1L)[[1L]], value)
  calls <- current$calls
  trace <- if (length(calls) > 0L) paste0("\nTraceback:\n", paste(sprintf("%d. %s", seq_along(calls), calls), collapse = "\n")) else ""
  current$error <- list(name = sub("^simpleError$", "Error", class(condition)[[1L]]), value = value, traceback = paste0(head, trace))
}

# The user's own calls: between the evaluator's and those that signal.
user_calls <- function(calls) {
  text <- vapply(calls, function(call) deparse(call, nlines = 1L)[[1L]], "")
  start <- max(0L, grep("^(withVisible\\(do|withVisible\\(eval|eval\\(expr, envir)", text))
  text <- text[seq_along(text) > start & !grepl("^(\\.handleSimpleError|h\\(simpleError|signalCondition|\\(function \\((e|condition)\\))", text)]
  utils::tail(text, 50L)
}

# evaluate collects what user code prints until its expression is through. Without its sink the output goes to stdout at once.
live <- tryCatch({
  stopifnot(identical(names(formals(evaluate:::local_persistent_sink_connection))[1:2], c("debug", "frame")))
  utils::assignInNamespace("local_persistent_sink_connection", function(debug, frame) function() NULL, "evaluate")
  TRUE
}, error = function(e) FALSE)

# User code may unload the package.
evaluator <- evaluate::evaluate

handler <- evaluate::new_output_handler(
  text = function(text) if (!live) to_stdout(text),
  graphics = function(plot) publish(c(list("text/plain" = "<plot>"), "image/png" = png_of(plot))),
  message = function(condition) cat(conditionMessage(condition), file = stderr()),
  warning = function(condition) {
    call <- conditionCall(condition)
    head <- if (is.null(call)) "Warning: " else sprintf("Warning in %s: ", deparse(call, nlines = 1L)[[1L]])
    cat(head, conditionMessage(condition), "\n", sep = "", file = stderr())
  },
  error = on_error,
  value = function(value, visible) {
    if (visible) {
      if (draws_itself(value)) for_user(print, value) else publish(bundle(value))
    }
    invisible()
  },
  calling_handlers = list(error = function(condition) current$calls <- user_calls(sys.calls()))
)

set_env <- function(env) {
  saved <- list()
  for (name in names(env)) saved[[name]] <- Sys.getenv(name, NA_character_)
  if (length(env) > 0L) do.call(Sys.setenv, env)
  saved
}

restore_env <- function(saved) {
  for (name in names(saved)) {
    if (is.na(saved[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, saved[name])
  }
}

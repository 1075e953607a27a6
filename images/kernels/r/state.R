# The namespace as a list; a value that takes too long is told so, and what ignores that is cut off by the guest's interrupt.

BASE <- c("base", "methods", "datasets", "utils", "grDevices", "graphics", "stats")

OVERDUE <- "<str did not come in time>"

answer_state <- function(request) {
  all <- ls(globalenv())
  names <- utils::head(all, request$variables)
  without <- function(name, text, type = "?") list(name = name, type = type, repr = text, size = NULL)
  variables <- lapply(names, without, "<not read: time was up>")
  one <- function(name) {
    if (bindingIsActive(as.name(name), globalenv())) return(without(name, "", "active binding"))
    value <- get0(name, globalenv(), inherits = FALSE)
    text <- tryCatch(
      paste(trimws(utils::capture.output(for_user(utils::str, value, give.attr = FALSE, vec.len = 2, max.level = 1, list.len = 5))), collapse = " "),
      error = function(e) if (startsWith(conditionMessage(e), "reached elapsed time limit")) OVERDUE else sprintf("<str raised %s>", class(e)[[1L]])
    )
    list(name = name, type = class(value)[[1L]], repr = substr(text, 1L, request[["repr"]]), size = as.numeric(utils::object.size(value)))
  }
  tryCatch(
    for (i in seq_along(names)) {
      at <- i
      setTimeLimit(elapsed = request$each_s, transient = TRUE)
      variables[[i]] <- tryCatch(allowInterrupts(one(names[[i]])), error = function(e) without(names[[i]], OVERDUE))
    },
    interrupt = function(condition) variables[[at]] <<- without(names[[at]], OVERDUE)
  )
  setTimeLimit()
  imports <- setdiff(.packages(), BASE)
  say(list(op = "answer", result = list(variables = variables, total = length(all), imports = I(as.character(imports)), cwd = getwd())))
}

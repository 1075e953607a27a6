# Values as MIME bundles.

ROWS_HTML <- 60L
ROWS_JSON <- 1000L

draws_itself <- function(value) inherits(value, c("ggplot", "gg", "trellis", "grob", "recordedplot", "patchwork"))

as_text <- function(value) paste(utils::capture.output(print_value(value)), collapse = "\n")

print_value <- function(value) if (isS4(value)) methods::show(value) else for_user(print, value)

# Called from here, a generic function would not find the methods that the user has defined.
for_user <- function(f, value, ...) eval(as.call(list(quote(f), quote(value), ...)), list2env(list(f = f, value = value), parent = globalenv()))

bundle <- function(value) {
  data <- list("text/plain" = as_text(value))
  if (is.data.frame(value)) {
    plain <- tryCatch(as.data.frame(value), error = function(e) NULL)
    if (!is.null(plain)) {
      data[["text/html"]] <- html_table(plain)
      rows <- utils::head(plain, ROWS_JSON)
      json <- tryCatch(jsonlite::toJSON(rows, dataframe = "rows", na = "null", digits = NA, POSIXt = "ISO8601"), error = function(e) NULL)
      if (!is.null(json)) data[["application/json"]] <- structure(json, class = "json")
    }
  }
  data
}

html_table <- function(frame) {
  escape <- function(x) gsub(">", "&gt;", gsub("<", "&lt;", gsub("&", "&amp;", x, fixed = TRUE), fixed = TRUE), fixed = TRUE)
  # `head` takes the class off columns that have no method for it.
  shown <- if (nrow(frame) > ROWS_HTML) utils::head(frame, ROWS_HTML) else frame
  text <- function(column) if (is.list(column)) vapply(column, toString, "") else if (is.character(column)) column else for_user(format, column, trim = TRUE)
  cells <- vapply(shown, function(column) escape(text(column)), character(nrow(shown)))
  cells <- matrix(cells, nrow = nrow(shown))
  row <- function(kind, values) paste0("<tr>", paste0("<", kind, ">", values, "</", kind, ">", collapse = ""), "</tr>")
  body <- vapply(seq_len(nrow(shown)), function(i) row("td", cells[i, ]), "")
  more <- if (nrow(frame) > ROWS_HTML) sprintf("<p>%d rows, %d shown</p>", nrow(frame), ROWS_HTML) else ""
  paste0("<table><thead>", row("th", escape(names(frame))), "</thead><tbody>", paste(body, collapse = ""), "</tbody></table>", more)
}

png_of <- function(plot) {
  path <- tempfile(fileext = ".png")
  on.exit(unlink(path))
  width <- getOption("repr.plot.width", 7)
  height <- getOption("repr.plot.height", 5)
  type <- if (capabilities("cairo")) "cairo" else "Xlib"
  previous <- grDevices::dev.cur()
  grDevices::png(path, width = width, height = height, units = "in", res = 110, type = type)
  tryCatch(suppressWarnings(grDevices::replayPlot(plot)), finally = {
    grDevices::dev.off()
    if (previous > 1) grDevices::dev.set(previous)
  })
  bytes <- readBin(path, "raw", file.size(path))
  # Nothing was written where there is no room.
  if (length(bytes) == 0L) return(NULL)
  gsub("\n", "", jsonlite::base64_enc(bytes), fixed = TRUE)
}

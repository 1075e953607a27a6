// Before anything is painted, so that a chosen theme does not flash. A file, since the page allows no inline script.
try {
  const theme = localStorage.getItem("sandbar.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden here: the system's theme it is.
}

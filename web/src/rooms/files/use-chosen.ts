import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { WATCHED } from "./use-tree.ts";

const VIEW_AFTER_MS = 120;

/** The path that is chosen in the tree, and the one that is looked at, which is the address's, a moment later. */
export function useChosen(session: string) {
  const navigate = useNavigate();
  const { path: addressed = WATCHED } = useSearch({ from: "/inside/sessions/$id/files" });
  // The address follows a moment later: the next key must act on what was chosen last.
  const [chosen, choose] = useState(addressed);
  const viewed = useSettled(chosen, VIEW_AFTER_MS);
  const written = useRef(addressed);
  useEffect(() => {
    if (viewed === written.current) return;
    written.current = viewed;
    void navigate({
      to: "/sessions/$id/files",
      params: { id: session },
      search: viewed === WATCHED ? {} : { path: viewed },
      replace: true,
    });
  }, [viewed, navigate, session]);
  useEffect(() => {
    if (addressed === written.current) return;
    written.current = addressed;
    choose(addressed);
  }, [addressed]);
  return { chosen, choose, viewed };
}

/** A value once it rests: arrow keys run through a tree faster than files can be read. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

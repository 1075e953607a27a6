import { SandbarError } from "@sandbar/sdk";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { queryClient } from "../../api/client.ts";
import { signIn } from "../../api/me.ts";
import { Logo } from "../../shell/logo.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";

/** By the code of a printed link, which stands behind # and so reaches no log, or by a key that somebody pastes. */
export function SignIn() {
  const { back } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [byLink, setByLink] = useState(location.hash.length > 1);

  const enter = async (proof: { api_key: string } | { code: string }) => {
    setBusy(true);
    setByLink("code" in proof);
    setError(null);
    try {
      await signIn(proof);
      queryClient.clear();
      await navigate({ href: back ?? "/sessions", replace: true });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };

  useEffect(() => {
    document.title = "Sign in · Sandbar";
    const take = () => {
      const code = location.hash.slice(1);
      if (!code) return;
      // It works once, but nobody needs it in the history. Without it a second look finds nothing to try.
      history.replaceState(history.state, "", location.pathname + location.search);
      void enter({ code });
    };
    take();
    // A link that is pasted over this page loads nothing anew.
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter({ api_key: key.trim() });
  };

  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <div className="w-full max-w-sm">
        <h1 className="mb-6 text-lg">
          <Logo />
        </h1>
        {byLink && busy ? (
          <div role="status" className="space-y-3">
            <p>Signing in with the link…</p>
            <Skeleton className="h-8 w-full" />
          </div>
        ) : (
          <form onSubmit={submit} className="space-y-4">
            <Field
              label="API key"
              hint={
                <>
                  It is exchanged for a cookie that scripts cannot read; the browser keeps no key. On the
                  machine that runs Sandbar, <code>npm start</code> prints a link that signs in without one.
                </>
              }
            >
              {(ids) => (
                <Input
                  {...ids}
                  type="password"
                  name="api_key"
                  mono
                  autoFocus
                  placeholder="sbk_…"
                  value={key}
                  onChange={(event) => setKey(event.target.value)}
                />
              )}
            </Field>
            {error != null && (
              <ErrorNote
                error={error}
                hint={
                  refused(error) && (
                    <>
                      <code>npx sandbar console</code> prints a new link. On the machine that runs Sandbar the
                      first key is in <code>.sandbar/api-key</code>.
                    </>
                  )
                }
              />
            )}
            <Button type="submit" tone="primary" className="w-full" busy={busy} disabled={key.trim() === ""}>
              Sign in
            </Button>
          </form>
        )}
      </div>
    </main>
  );
}

const refused = (error: unknown) => error instanceof SandbarError && error.code === "UNAUTHENTICATED";

import { useState } from "react";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { snippetsFor } from "./snippet-texts.ts";

/** How other programs use this very Sandbar. */
export function Snippets() {
  const [tab, setTab] = useState("curl");
  return (
    <Tabs
      value={tab}
      onChange={setTab}
      tabs={snippetsFor(location.origin).map(({ id, label, about, code }) => ({
        value: id,
        label,
        content: (
          <div className="space-y-2">
            <p className="text-muted">{about}</p>
            <CodeSnippet code={code} />
          </div>
        ),
      }))}
    />
  );
}

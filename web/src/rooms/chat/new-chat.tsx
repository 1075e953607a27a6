import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { sandbar } from "../../api/client.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { questionWith, uploadAll } from "./attachments.ts";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { DropZone } from "./drop-zone.tsx";
import { ModelBar } from "./model-bar.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { settingsQuery } from "./settings-query.ts";

/** A chat that has not begun; without a model, what to set. */
export function NewChat({ onSettings }: { onSettings: () => void }) {
  useCrumbs([{ label: "Chat" }]);
  const { data: settings, error, refetch } = useQuery(settingsQuery);
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} className="m-6" />;
  if (settings && !settings.ready)
    return (
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-xl px-4 py-10 sm:px-6">
          <h1 className="text-xl font-semibold">Chat with your data</h1>
          <p className="mt-1 mb-5 text-base text-muted">{settings.missing}</p>
          <SettingsForm settings={settings} />
        </div>
      </div>
    );
  return <Begin onSettings={onSettings} />;
}

function Begin({ onSettings }: { onSettings: () => void }) {
  const navigate = useNavigate();
  const composer = useRef<ComposerHandle>(null);
  // One thread, however often sending it is tried.
  const made = useRef<string | null>(null);
  useCommands([
    {
      ...{ id: "chat-write", title: "Write a question", group: "Chat", shortcut: "/" },
      run: () => composer.current?.focus(),
    },
  ]);
  return (
    <DropZone onDrop={(items) => composer.current?.add(items)}>
      <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col justify-center px-4 pb-[14vh] sm:px-6">
        <h1 className="text-xl font-semibold">Chat with your data</h1>
        <p className="mt-1 mb-4 text-base text-muted">
          Drop files in and ask. The agent answers with code that it runs in a sandbox of this chat.
        </p>
        <Composer
          draftKey=""
          handle={composer}
          running={false}
          onSend={async ({ text, attachments, signal, onProgress }) => {
            made.current ??= (await sandbar.threads.create()).thread_id;
            const id = made.current;
            const paths = await uploadAll(id, attachments, { signal, onProgress });
            const { content, id: messageId } = await questionWith(text, attachments, paths);
            const input = { messages: [{ role: "user", id: messageId, content }] };
            await sandbar.threads.start(id, { input }, { signal });
            await navigate({ to: "/chat/$threadId", params: { threadId: id } });
          }}
          footer={<ModelBar onSettings={onSettings} />}
        />
      </div>
    </DropZone>
  );
}

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { toastError } from "../../ui/toast.tsx";
import { EMPTY_LAYOUT } from "../notebook/layout.ts";
import { newDraft, saveLayout } from "../notebook/layout-storage.ts";

const FIRST_CELL = `import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 4 * np.pi, 400)
plt.figure(figsize=(7, 3))
plt.plot(x, np.sin(x) * np.exp(-x / 8))
plt.title("Hello from a sandbox")
plt.show()`;

/** A Python session with a cell that is ready to run. */
export function useQuickStart(): { busy: boolean; start: () => void } {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    try {
      const session = await sandbar.session({ runtime: "python", key: "first-notebook" });
      saveLayout(session.id, {
        ...EMPTY_LAYOUT,
        drafts: [newDraft({ context: "python", code: FIRST_CELL })],
      });
      await navigate({ to: "/sessions/$id", params: { id: session.id } });
    } catch (error) {
      toastError(error, "Start");
    } finally {
      setBusy(false);
    }
  };
  return { busy, start: () => void make() };
}

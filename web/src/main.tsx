import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/client.ts";
import { cspNonce } from "./api/csp-nonce.ts";
import { router } from "./routes.tsx";
import { Toasts } from "./ui/toast.tsx";
import { TooltipProvider } from "./ui/tooltip.tsx";
import "./styles.css";

// Dialogs and menus lock the page's scrolling with a style element.
setNonce(cspNonce());

createRoot(document.getElementById("root")!, {
  // They are shown where they belong.
  onCaughtError: () => {},
}).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TooltipProvider delayDuration={400}>
        <RouterProvider router={router} />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  </StrictMode>,
);

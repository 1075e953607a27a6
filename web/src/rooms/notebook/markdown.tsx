import ReactMarkdown from "react-markdown";
import rehypeKatex from "rehype-katex";
import remarkGfm from "remark-gfm";
import remarkMath from "remark-math";
import { CodeBlock } from "./code-block.tsx";
import "katex/dist/katex.min.css";

/** Words with mathematics. HTML in it is shown as text; pictures of other places are not asked for. */
export default function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown
        remarkPlugins={[remarkGfm, remarkMath]}
        rehypePlugins={[
          [rehypeKatex, { output: "htmlAndMathml", strict: false, errorColor: "var(--danger)" }],
        ]}
        components={{
          a: ({ href, children }) => (
            <a href={href} target="_blank" rel="noreferrer noopener">
              {children}
            </a>
          ),
          pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
          img: ({ alt, src }) =>
            typeof src === "string" && src.startsWith("data:image/") ? (
              <img alt={alt ?? ""} src={src} />
            ) : (
              <em>{alt}</em>
            ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}

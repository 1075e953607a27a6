const NAMES: Record<string, string> = { python: "Python", node: "Node", r: "R", bash: "bash" };

export const languageName = (language: string): string => NAMES[language] ?? language;

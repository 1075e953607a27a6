/** Starts the user's shell, as the API's own terminals do. */
export const SHELL = 'exec "$SHELL" -i';

/** A command as lists show it. */
export function commandWords(command: string): string {
  return command === SHELL ? "Shell" : command;
}

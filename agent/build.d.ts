/** The path of the Worker's module. */
export declare function buildAgent(): Promise<string>;

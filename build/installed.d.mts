export function isInstalled(id: string): boolean;

export function createSbom(): string;

/** The devices that the embedded engine computes on. */
export const deviceNames = ['cpu', 'webgpu', 'cuda'] as const;
export type DeviceName = (typeof deviceNames)[number];

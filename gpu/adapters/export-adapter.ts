/** An adapter as a folder that PEFT loads onto the model that it was trained on. */
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdapterSettings } from '../../core/recipe.ts';
import { writeCompleteFolder } from '../model/complete-folder.ts';
import { adapterConfigFile, adapterFileNames } from './peft-config.ts';

/**
 * @param adapter.weightsPath The adapter of a policy version.
 * @returns the absolute path of the folder
 * @throws RekindleError UsageError when the folder exists and is not empty.
 */
export function exportAdapter(adapter: {
  folder: string;
  settings: AdapterSettings;
  weightsPath: string;
}): Promise<string> {
  return writeCompleteFolder(adapter.folder, async (folder) => {
    const config = adapterConfigFile(adapter.settings, { scored: false, baseModel: null });
    await writeFile(join(folder, adapterFileNames.config), config);
    await copyFile(adapter.weightsPath, join(folder, adapterFileNames.weights));
  });
}

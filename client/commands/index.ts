/** Every command, in the order of the help text. */
import type { Register } from './command.ts';
import { registerChat } from './chat.ts';
import { registerDoctor } from './doctor.ts';
import { registerExport } from './export.ts';
import { registerList } from './list.ts';
import { registerModel } from './model.ts';
import { registerPause } from './pause.ts';
import { registerPlan } from './plan.ts';
import { registerReport } from './report.ts';
import { registerRestart } from './restart.ts';
import { registerResume } from './resume.ts';
import { registerRollback } from './rollback.ts';
import { registerServe } from './serve.ts';
import { registerSet } from './set.ts';
import { registerStart } from './start.ts';
import { registerStatus } from './status.ts';
import { registerStop } from './stop.ts';
import { registerTrain } from './train.ts';
import { registerUp } from './up.ts';
import { registerVerify } from './verify.ts';
import { registerWatch } from './watch.ts';

export const commands: Register[] = [
  registerStart,
  registerTrain,
  registerPlan,
  registerUp,
  registerRestart,
  registerList,
  registerStatus,
  registerWatch,
  registerPause,
  registerResume,
  registerStop,
  registerSet,
  registerRollback,
  registerReport,
  registerVerify,
  registerChat,
  registerServe,
  registerExport,
  registerModel,
  registerDoctor,
];

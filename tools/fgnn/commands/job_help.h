// The help of arguments that name a job.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_JOB_HELP_H_
#define FGNN_TOOLS_FGNN_COMMANDS_JOB_HELP_H_

namespace fgnn {

inline constexpr char kJobHelp[] =
    "A job: its id, a unique part of it, its --name, or 'last' for the newest";

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_JOB_HELP_H_

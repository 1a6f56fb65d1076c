#include "tools/fgnn/completion.h"

#include <map>

#include "absl/strings/str_replace.h"
#include "fgnn/v1/job.pb.h"
#include "fgnn/v1/job_service.pb.h"
#include "fgnn/v1/options.pb.h"
#include "tools/fgnn/reports/job_text.h"

namespace fgnn {
namespace {

// Returns the flags of a command itself, one word each: "--json --state-dir".
std::string Flags(Command command, bool only_with_value) {
  std::string words;
  for (const Option& option : command.Options()) {
    if (only_with_value && option.LeastWords() == 0) continue;
    for (const std::string& name : option.LongNames()) {
      words += " --" + name;
    }
  }
  return words;
}

// Returns what the values of an option are: "jobs", "states", "keys" or
// "devices"; "files" for all others.
std::string KindOf(const Option& option) {
  const std::string word = option.Word();
  if (word == "JOB" || word == "DIR|JOB" || word == "RUN") return "jobs";
  if (word == "STATE") return "states";
  if (word == "KEY=VALUE") return "keys";
  if (word == "DEVICE") return "devices";
  return "files";
}

// Returns what the words of a command are, by its first argument.
std::string KindOfWords(Command command) {
  for (const Option& option : command.Options()) {
    if (option.IsArgument()) return KindOf(option);
  }
  return "none";
}

// Adds what the flags take whose values are no files. All commands mean the
// same by a flag of this name.
void AddKinds(Command command, std::map<std::string, std::string>& kinds) {
  for (const Option& option : command.Options()) {
    if (option.LeastWords() == 0) continue;
    for (const std::string& name : option.LongNames()) {
      const std::string kind = KindOf(option);
      if (kind != "files") kinds["--" + name] = kind;
    }
  }
  for (const Command& sub : command.Subcommands()) AddKinds(sub, kinds);
}

// Returns a line of `case` per flag whose values are no files.
std::string FlagKinds(Command root) {
  std::map<std::string, std::string> kinds;
  AddKinds(root, kinds);
  std::string cases;
  for (const auto& [flag, kind] : kinds) {
    cases += "    " + flag + ") kind=" + kind + " ;;\n";
  }
  return cases;
}

std::string StateNames() {
  std::string names;
  for (int number = 1; v1::JobState_IsValid(number); ++number) {
    names += " " + StateName(static_cast<v1::JobState>(number));
  }
  return names;
}

// Returns the paths of all fields: " training.epochs= …".
std::string Keys(const google::protobuf::Descriptor& message,
                 const std::string& prefix) {
  std::string keys;
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.field(i);
    // A block in the place of a list has the list's key.
    if (!field.options().GetExtension(v1::doc).instead_of().empty()) continue;
    const std::string path = prefix + field.name();
    if (field.message_type() == nullptr) {
      keys += " " + path + "=";
    } else {
      keys += Keys(*field.message_type(), path + ".");
    }
  }
  return keys;
}

// Adds a line of `case` per command: its path, what may follow, and the flags
// that take a value.
void AddCases(Command command, const std::string& global_flags,
              std::string& cases) {
  std::string words;
  for (const Command& sub : command.Subcommands()) words += " " + sub.Name();
  cases += "    '" + command.Path() + "') words='" + words +
           Flags(command, false) +
           (command.Parent().has_value() ? global_flags : "") +
           "' kind=" + KindOfWords(command) + " ;;\n";
  for (const Command& sub : command.Subcommands()) {
    AddCases(sub, global_flags, cases);
  }
}

void AddPaths(Command command, std::string& paths) {
  for (const Command& sub : command.Subcommands()) {
    paths += "'" + sub.Path() + "'|";
    AddPaths(sub, paths);
  }
}

void AddFlagsWithValue(Command command, std::string& flags) {
  flags += Flags(command, true);
  for (const Command& sub : command.Subcommands()) {
    AddFlagsWithValue(sub, flags);
  }
}

// Offers words of `kind`. In a list, only the part behind the last comma is
// completed. Bash splits devices at their colon, and takes the part behind it.
constexpr char kOffer[] = R"sh(  if [[ $kind == devices ]]; then
    [[ $last == : ]] && colon=${COMP_WORDS[COMP_CWORD-2]}:
    [[ $word == : ]] && colon=$last: word=
  fi
  [[ $kind != files && $word == *,* ]] && before=${word%,*},
  case "$kind" in
    jobs) words+=" last $(FUNCTION_list jobs)" ;;
    devices) words+=" $(FUNCTION_list devices)" ;;
    states) words='STATES' ;;
    keys) words='KEYS'; compopt -o nospace ;;
  esac
  COMPREPLY=()
  [[ -n $words ]] && COMPREPLY=($(compgen -P "$before" -W "$words" -- "$colon${word#"$before"}"))
  COMPREPLY=("${COMPREPLY[@]#"$colon"}")
  [[ $kind == files && $word != -* ]] && compopt -o default
  return 0
}
)sh";

// Lists the first column of a table that the program prints.
constexpr char kList[] = R"sh(FUNCTION_list() {
  local folder=() i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == --state-dir ]] && folder=(--state-dir "${COMP_WORDS[i+1]}")
  done
  "${COMP_WORDS[0]}" "${folder[@]}" "$1" 2>/dev/null | tail -n +2 | cut -d ' ' -f 1
}
)sh";

}  // namespace

std::string BashCompletion(Command root) {
  const std::string name = root.Name();
  std::string cases;
  AddCases(root, Flags(root, false), cases);
  std::string paths;
  AddPaths(root, paths);
  if (!paths.empty()) paths.pop_back();
  std::string with_value;
  AddFlagsWithValue(root, with_value);
  const std::string function = "_" + name + "_complete";
  return "# Bash completion of " + name + "; load it with\n" + "#   source <(" +
         name + " completion bash)\n" +
         absl::StrReplaceAll(kList, {{"FUNCTION", function}}) + function +
         "() {\n" + "  local word=${COMP_WORDS[COMP_CWORD]} path=" + name +
         " words= kind=none before= colon= i\n"
         "  local last=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local flag=$last\n"
         "  [[ $last == : ]] && flag=${COMP_WORDS[COMP_CWORD-3]}\n"
         "  [[ $word == : ]] && flag=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in\n"
         "    " +
         paths +
         ") path=\"$path ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  case \"" +
         with_value +
         " \" in\n"
         "    *\" $flag \"*) words= kind=files ;;\n"
         "  esac\n"
         "  case \"$flag\" in\n" +
         FlagKinds(root) + "  esac\n" +
         absl::StrReplaceAll(kOffer,
                             {{"FUNCTION", function},
                              {"STATES", StateNames()},
                              {"KEYS", Keys(*v1::JobSpec::descriptor(), "")}}) +
         "complete -F " + function + " " + name + "\n";
}

}  // namespace fgnn

// Runs this program with another file of a shared library than the one that it was linked with:
// another version of oneDNN. The dynamic linker binds a library once, before main, so a program
// with another choice replaces itself by a new process image with LD_PRELOAD set. Needs no vendor's
// headers: modules that call a library register how to recognize it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::workload {

// What a library says about itself.
struct LibraryFacts {
  std::string version;    // "3.6.2"
  std::string commit;     // of its source; "" if it does not tell
  std::string threading;  // "OpenMP"
  // Whether this program sets the number of the library's threads and pins them.
  bool threads_controlled = true;
};

// A library whose file the user can choose.
struct ChoosableLibrary {
  std::string name;      // "onednn"
  std::string title;     // "oneDNN", in messages
  std::string function;  // a function that only this library defines: "dnnl_version"
  // Returns the facts of the library whose `function` is at this address.
  std::function<LibraryFacts(void* function)> facts;
  // Returns why this program cannot use that library, nothing if it can.
  std::function<std::optional<Reason>(void* function)> refusal;
  // A function of a library that both this program and the chosen library call, so that both must
  // use the same file: of the OpenMP runtime, for example. May be empty.
  std::string shared_function;
};

// Registers a library. Call at namespace scope. Returns true.
bool RegisterChoosableLibrary(ChoosableLibrary library);

// A library that this process uses.
struct LoadedLibrary {
  std::string name;  // "onednn"
  std::string file;  // absolute path, with symbolic links resolved
  LibraryFacts facts;
};
// Returns the registered libraries of this process.
std::vector<LoadedLibrary> LoadedLibraries();

// Makes this program use `file` as its library `name`: replaces this process by the same program
// with the same arguments, which then calls this function again, and returns there. Call it before
// anything else has an effect. Also if the program was built with this file, so that the versions
// of a comparison are loaded in the same way. `flag` names the user's choice in messages. Throws
// BadInput, in one sentence, if the file cannot be loaded, is another library, or is a version that
// this program cannot use; and if this build does not have the library.
void UseLibraryFile(const std::string& name, const std::string& file, const std::string& flag);

// Returns the value of LD_PRELOAD that loads `files` after those of `before`, which may be null.
// Throws BadInput for a path that LD_PRELOAD cannot express.
std::string PreloadValue(const char* before, const std::vector<std::string>& files);

}  // namespace dlroof::workload

#include "baselines/network/network_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ceilings/cache/located_object.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;

NetworkPiece ReadPiece(const machine_file::LocatedObject& object) {
  return {.up_to_bytes = std::nullopt,
          .latency_seconds = object.Number("latency_seconds"),
          .bytes_per_second = object.Number("bytes_per_second")};
}

std::vector<NetworkPiece> ReadPieces(const machine_file::LocatedJson& file, const machine_file::LocatedObject& object) {
  const auto& list = object.Needed("pieces");
  if (!list.is_array() || list.empty())
    throw BadInput("{}: 'pieces': expected an array with at least one object",
                   object.Where("pieces"));
  std::vector<NetworkPiece> pieces;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto path = object.PathOf("pieces");
    path.push_back(fmt::format("[{}]", i));
    const machine_file::LocatedObject piece(file, list[i], path,
                              {"up_to_bytes", "latency_seconds", "bytes_per_second"});
    pieces.push_back(ReadPiece(piece));
    const bool last = i + 1 == list.size();
    if (last && piece.Has("up_to_bytes"))
      throw BadInput("{}: 'up_to_bytes': the last piece has none: larger messages are its own",
                     piece.Where("up_to_bytes"));
    if (last) break;
    pieces.back().up_to_bytes = piece.Number("up_to_bytes");
    if (i > 0 && *pieces[i].up_to_bytes <= *pieces[i - 1].up_to_bytes)
      throw BadInput("{}: 'up_to_bytes': expected more than the piece before, {:g}",
                     piece.Where("up_to_bytes"), *pieces[i - 1].up_to_bytes);
  }
  return pieces;
}

// Returns why the network is not proved; empty: it is.
std::string DoubtIn(const machine_file::LocatedJson& file, const machine_file::LocatedObject& object) {
  const machine_file::LocatedObject proof(
      file, object.Needed("proof"), object.PathOf("proof"),
      {"worst_residual", "doubling", "spread", "allreduce_over_bound", "proved", "reason"});
  return proof.Has("reason") ? proof.Text("reason") : "";
}

Network ReadNetworkObject(const machine_file::LocatedJson& file, const json& value, machine_file::LocatedJson::Path path) {
  const machine_file::LocatedObject object(
      file, value, std::move(path),
      {"name", "latency_seconds", "bytes_per_second", "pieces", "allreduce_over_model", "proof"});
  Network network;
  if (object.Has("name")) network.name = object.Text("name");
  if (object.Has("pieces")) {
    for (const char* key : {"latency_seconds", "bytes_per_second"})
      if (object.Has(key))
        throw BadInput("{}: '{}' belongs to each of 'pieces'", object.Where(key), key);
    network.pieces = ReadPieces(file, object);
  } else {
    network.pieces = {ReadPiece(object)};
  }
  if (object.Has("allreduce_over_model"))
    network.allreduce_over_model = object.Number("allreduce_over_model");
  if (object.Has("proof")) network.doubt = DoubtIn(file, object);
  return network;
}

}  // namespace

Network ParseNetwork(const std::string& text, const std::string& where) {
  const machine_file::LocatedJson file(text, where);
  if (!file.value().is_object() || file.value().empty())
    throw BadInput(BadInput::Place{where, 1},
                   "expected an object with 'latency_seconds' and 'bytes_per_second'");
  if (!file.value().contains("dlroof_net")) return ReadNetworkObject(file, file.value(), {});
  if (!file.value().contains("network"))
    throw BadInput("{}: has no 'network': dlroof_net could not fit its times", where);
  return ReadNetworkObject(file, file.value().at("network"), {"network"});
}

Network ReadNetwork(const std::string& path) {
  return ParseNetwork(ReadFile(path, "a file of a network"), path);
}

}  // namespace dlroof::cluster

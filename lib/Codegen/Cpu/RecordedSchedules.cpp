//===- RecordedSchedules.cpp - Between numbers and what a launch records --===//
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const ContractionSchedule &s) {
  std::optional<int64_t> kBlock;
  if (s.kBlock)
    kBlock = s.kBlock;
  return cpu::ContractionScheduleAttr::get(
      context, s.lanes, s.vectors, s.rows, s.unroll, s.tilesPerTask, s.panelsPerTask, kBlock, s.a,
      s.b, s.stepBytes, s.matrixTiles,
      s.inlineEpilogue ? cpu::Epilogue::Inline : cpu::Epilogue::Rolled, s.grainProducts,
      s.leastTiles, s.singleTile);
}

kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const WinogradSchedule &s) {
  return cpu::WinogradScheduleAttr::get(context, s.lanes, s.vectors, s.rows, s.tilesPerTask,
                                        s.panelsPerTask, s.leastTiles);
}

kernel::Schedule scheduleAttr(mlir::MLIRContext *context, const LineSchedule &s) {
  return cpu::LineScheduleAttr::get(context, s.lanes, s.pixels, s.vectorsPerTask);
}

ContractionSchedule numbersOf(cpu::ContractionScheduleAttr attr) {
  ContractionSchedule s;
  s.lanes = attr.getLanes();
  s.vectors = attr.getVectors();
  s.rows = attr.getRows();
  s.unroll = attr.getUnroll();
  s.tilesPerTask = attr.getTilesPerTask();
  s.panelsPerTask = attr.getPanelsPerTask();
  s.kBlock = attr.getKBlock().value_or(0);
  s.a = attr.getA();
  s.b = attr.getB();
  s.stepBytes = attr.getStepBytes();
  s.matrixTiles = attr.getMatrixTiles();
  s.inlineEpilogue = attr.getEpilogue() == cpu::Epilogue::Inline;
  s.grainProducts = attr.getGrainProducts();
  s.leastTiles = attr.getLeastTiles();
  s.singleTile = attr.getSingleTile();
  return s;
}

WinogradSchedule numbersOf(cpu::WinogradScheduleAttr attr) {
  WinogradSchedule s;
  s.lanes = attr.getLanes();
  s.vectors = attr.getVectors();
  s.rows = attr.getRows();
  s.tilesPerTask = attr.getTilesPerTask();
  s.panelsPerTask = attr.getPanelsPerTask();
  s.leastTiles = attr.getLeastTiles();
  return s;
}

LineSchedule numbersOf(cpu::LineScheduleAttr attr) {
  LineSchedule s;
  s.lanes = attr.getLanes();
  s.pixels = attr.getPixels();
  s.vectorsPerTask = attr.getVectorsPerTask();
  return s;
}

} // namespace tcc::codegen

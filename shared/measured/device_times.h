// The seconds of a batch on one device.
#ifndef FGNN_SHARED_MEASURED_DEVICE_TIMES_H_
#define FGNN_SHARED_MEASURED_DEVICE_TIMES_H_

namespace fgnn {

// Seconds of a batch on one device; 0: not known.
struct DeviceTimes {
  double sample = 0;  // Ts: seconds to sample a batch.
  // Tt: seconds to train a batch, with the extraction that the trainer's
  // pipeline does not hide.
  double train = 0;
  // Tt': the seconds of `train` while the device is planned to sample.
  double standby = 0;

  // Returns the seconds of a batch that a standby trainer trains: those of
  // `train` if `standby` is not known.
  double standby_or_train() const { return standby > 0 ? standby : train; }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_DEVICE_TIMES_H_

import Configuration
import Providers

extension PushServices {
    /// The configured push services; those whose key this process lacks are used by other processes.
    /// - Parameter now: seconds since 1970.
    init(_ configuration: ServerConfiguration, now: @escaping @Sendable () -> Int64) {
        self.init()
        for offer in Company.pushes {
            if let values = configuration.push[offer.section] { offer.install(values, &self, now) }
        }
    }
}

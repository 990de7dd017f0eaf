import Configuration
import Providers

extension PushServices {
    /// The configured push services; processes of another role use those without a key.
    /// - Parameter now: seconds since 1970.
    init(_ configuration: ServerConfiguration, now: @escaping @Sendable () -> Int64) {
        self.init()
        for offer in Company.pushes {
            if let values = configuration.push[offer.section] { offer.install(values, &self, now) }
        }
    }
}

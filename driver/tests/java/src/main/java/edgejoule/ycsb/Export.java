package edgejoule.ycsb;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import site.ycsb.measurements.exporter.MeasurementsExporter;

/**
 * Writes measurements with one of YCSB's exporters: its class is the argument, standard input has a measurement a line:
 * metric, measurement, "long" or "double", value, separated by tabs.
 */
public final class Export {
  private Export() {}

  public static void main(String[] arguments) throws Exception {
    final MeasurementsExporter exporter = (MeasurementsExporter) Class.forName(arguments[0])
        .getConstructor(OutputStream.class).newInstance(System.out);
    final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      final String[] fields = line.split("\t");
      if (fields[2].equals("double")) {
        exporter.write(fields[0], fields[1], Double.parseDouble(fields[3]));
      } else {
        exporter.write(fields[0], fields[1], Long.parseLong(fields[3]));
      }
    }
    exporter.close();
  }
}

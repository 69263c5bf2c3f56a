import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * mongo-java-server on a port of 127.0.0.1, with its data in a file: a stand-in for MongoDB, which says so in buildInfo.
 * It adds what mongod has and it lacks: the counters of serverStatus, and fsync.
 * Usage: StandIn PORT FILE NAME [CERTIFICATE KEY]
 */
public class StandIn {
    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new Counting(arguments[1], arguments[2]));
        if (arguments.length == 5) {
            enableTls(server, Path.of(arguments[3]), Path.of(arguments[4]));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        System.out.println(arguments[2] + ", a stand-in for MongoDB, listens on 127.0.0.1:" + arguments[0]);
    }

    private static void enableTls(MongoServer server, Path certificate, Path key) throws Exception {
        String pem = Files.readString(key).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        var spec = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem));
        try (var in = Files.newInputStream(certificate)) {
            var chain = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
            server.enableSsl(KeyFactory.getInstance("RSA").generatePrivate(spec), null, chain);
        }
    }

    private static final class Counting extends H2Backend {
        private final String name;
        private final Map<String, AtomicLong> counts = new LinkedHashMap<>();

        Counting(String file, String name) {
            super(file);
            this.name = name;
            for (String kind : new String[] {"insert", "query", "update", "delete", "getmore", "command"}) {
                counts.put(kind, new AtomicLong());
            }
        }

        @Override
        public Document handleCommand(Channel channel, String database, String command, Document query) {
            switch (command) {
                case "insert" -> count("insert", query.get("documents"));
                case "update" -> count("update", query.get("updates"));
                case "delete" -> count("delete", query.get("deletes"));
                case "find" -> count("query", null);
                case "getMore" -> count("getmore", null);
                default -> count("command", null);
            }
            if (command.equals("fsync")) {
                commit();
                getMvStore().sync();
                return new Document("ok", 1.0);
            }
            Document answer = super.handleCommand(channel, database, command, query);
            if (command.equalsIgnoreCase("buildInfo")) {
                answer.put("standIn", name);
            }
            return answer;
        }

        @Override
        public Document getServerStatus() {
            Document status = super.getServerStatus();
            Document counters = new Document();
            counts.forEach((kind, count) -> counters.put(kind, count.get()));
            status.put("opcounters", counters);
            return status;
        }

        private void count(String kind, Object list) {
            counts.get(kind).addAndGet(list instanceof Collection<?> all ? all.size() : 1);
        }
    }
}
